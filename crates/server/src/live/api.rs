//! The server API: what applications ask over HTTP, and the same from commands.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use ::live::api::{
    self, ApiError, Body, ChannelInfo, DecodeError, HistoryPage, Method, Node, PublicationOut,
    Publish, Reply, ReplyResult, Request as Asked, check,
};
use ::live::{Options, Unsubscribe};
use commands::{Fail, Outcome};
use engine::{Call, Engine, LiveCall, Session};
use http1::Method as Verb;
use http1::form::urlencoded;
use live_protocol::control::{self, Message};

use super::Live;
use super::hub::{Cx, Hub};
use super::mail::Mail;
use super::peers;
use super::store::{Keep, Span, Store};
use super::transport::Request;
use crate::web::After;
use live_protocol::{ClientInfo, Publication};

/// How long the result of a publication with an idempotency key is kept.
const RESULT_TTL: Duration = Duration::from_secs(300);

impl Keep {
    pub(super) fn of(plan: &check::PublishPlan) -> Self {
        let (size, ttl) = plan.history.unwrap_or_default();
        Self {
            size,
            ttl,
            meta_ttl: plan.namespace.history_meta_ttl,
            delta: plan.delta,
            idempotency_ttl: RESULT_TTL,
            ..Self::default()
        }
    }
}

/// Answers a request for the API; none: it is for somebody else.
pub(super) fn answer(
    hub: &mut Hub,
    cx: &mut Cx<'_>,
    request: &mut Request<'_, '_>,
) -> Option<After> {
    let options = Arc::clone(&request.options);
    let http = &options.http_api;
    let rest =
        request.head.target.path.strip_prefix(http.prefix.as_str()).filter(|_| http.enabled)?;
    let name = match rest.strip_prefix('/') {
        Some(name) => name.to_owned(),
        None if rest.is_empty() => String::new(),
        None => return None,
    };
    if request.head.method != Verb::Post {
        return Some(request.plain(405, "text/plain", b"405\n"));
    }
    let query = urlencoded(request.head.target.query.as_bytes());
    let by_query = query.iter().find(|(n, _)| n == "api_key").map(|(_, v)| v.as_str());
    let (key, bearer) = (request.head.text("x-api-key"), request.head.text("authorization"));
    if !http.insecure && !api::is_authorized(&http.key, key, bearer, by_query) {
        return Some(request.plain(401, "text/plain; charset=utf-8", b"Unauthorized\n"));
    }
    const JSON: &str = "application/json";
    if name.is_empty() {
        let Ok(all) = api::legacy(request.body) else {
            return Some(request.plain(400, "text/plain", b"Bad Request\n"));
        };
        let mut body = Vec::new();
        for one in all {
            let reply = one.request.and_then(|asked| hub.api(cx, asked));
            body.extend(api::encode_legacy(one.id, &reply));
            body.push(b'\n');
        }
        return Some(request.plain(200, JSON, &body));
    }
    let Some(method) = Method::of(&name) else {
        return Some(request.plain(404, "text/plain; charset=utf-8", b"404 page not found\n"));
    };
    let transport = http.error_mode_transport
        || request.head.text("x-centrifugo-error-mode") == Some("transport");
    let reply = match api::decode(method, request.body) {
        Err(DecodeError::Malformed(why)) => {
            return Some(request.plain(400, "text/plain; charset=utf-8", why.as_bytes()));
        }
        Err(DecodeError::Refused(error)) => Err(error),
        Ok(Body::One(Asked::Channels { pattern })) if hub.has_company(cx) => {
            return Some(request.wait(pattern));
        }
        Ok(Body::One(Asked::History(asked))) if hub.is_of_topic(&asked.channel) => {
            return Some(request.wait_for_history(asked));
        }
        Ok(Body::One(asked)) => hub.api(cx, asked),
        Ok(Body::Batch { requests, .. }) => {
            let run = |asked: Result<Asked, ApiError>| {
                let method = asked.as_ref().ok().map(method_of);
                (method, asked.and_then(|asked| hub.api(cx, asked)))
            };
            let replies: Vec<_> = requests.into_iter().map(run).collect();
            return Some(request.plain(200, JSON, &api::encode_batch(&replies)));
        }
    };
    Some(match &reply {
        Err(error) if transport => request.plain(error.status(), JSON, &api::encode_error(error)),
        _ => request.plain(200, JSON, &api::encode(&reply)),
    })
}

fn method_of(asked: &Asked) -> Method {
    match asked {
        Asked::Publish(_) => Method::Publish,
        Asked::Broadcast(_) => Method::Broadcast,
        Asked::Subscribe(_) => Method::Subscribe,
        Asked::Unsubscribe(_) => Method::Unsubscribe,
        Asked::Disconnect(_) => Method::Disconnect,
        Asked::Refresh(_) => Method::Refresh,
        Asked::Presence { .. } => Method::Presence,
        Asked::PresenceStats { .. } => Method::PresenceStats,
        Asked::History(_) => Method::History,
        Asked::HistoryRemove { .. } => Method::HistoryRemove,
        Asked::Channels { .. } => Method::Channels,
        Asked::Info => Method::Info,
        Asked::Rpc { .. } => Method::Rpc,
    }
}

fn info_out(info: ClientInfo) -> api::ClientInfo {
    let ClientInfo { user, client, conn_info, chan_info } = info;
    api::ClientInfo { user, client, conn_info, chan_info }
}

pub(super) fn out(publication: Publication) -> PublicationOut {
    let Publication { data, info, offset, tags, .. } = publication;
    PublicationOut { data, info: info.map(info_out), offset, tags }
}

/// Where a request is executed.
pub(super) struct Api<'a> {
    pub(super) live: &'a Live,
    pub(super) options: &'a Options,
    pub(super) store: Store<'a>,
}

impl Api<'_> {
    /// Does what the API asks for.
    pub(super) fn run(&mut self, asked: Asked) -> Reply {
        let (engine, live) = (self.store.engine, self.live);
        match asked {
            Asked::Publish(publish) => self.publish(&publish),
            Asked::Broadcast(broadcast) => {
                let publication = broadcast.publication;
                let each = |channel| {
                    let publication = publication.clone();
                    self.publish(&Publish { channel, publication })
                };
                Ok(ReplyResult::Broadcast(broadcast.channels.into_iter().map(each).collect()))
            }
            Asked::Subscribe(asked) => {
                let options = check::subscribe(self.options, &asked)?;
                self.tell(peers::subscribes(&asked, &options));
                live.post_all(engine, &Mail::Subscribe(asked, Box::new(options)));
                Ok(ReplyResult::Empty)
            }
            Asked::Unsubscribe(asked) => {
                check::unsubscribe(self.options, &asked.channel)?;
                let end = Unsubscribe::SERVER;
                self.tell(peers::unsubscribes(&asked, &end));
                live.post_all(engine, &Mail::Unsubscribe(asked, end));
                Ok(ReplyResult::Empty)
            }
            Asked::Disconnect(asked) => {
                self.tell(peers::disconnects(&asked));
                live.post_all(engine, &Mail::Disconnect(asked));
                Ok(ReplyResult::Empty)
            }
            Asked::Refresh(asked) => {
                self.tell(peers::refreshes(&asked));
                live.post_all(engine, &Mail::Refresh(asked));
                Ok(ReplyResult::Empty)
            }
            Asked::Presence { channel } => {
                check::presence(self.options, &channel)?;
                let all = self.store.presence(&channel).map_err(|why| internal(engine, &why))?;
                Ok(ReplyResult::Presence(all.into_iter().map(|(_, info)| info_out(info)).collect()))
            }
            Asked::PresenceStats { channel } => {
                check::presence(self.options, &channel)?;
                let all = self.store.presence(&channel).map_err(|why| internal(engine, &why))?;
                let mut users: Vec<_> = all.iter().map(|(_, info)| &info.user).collect();
                users.sort_unstable();
                users.dedup();
                let (num_clients, num_users) = (all.len() as u32, users.len() as u32);
                Ok(ReplyResult::PresenceStats { num_clients, num_users })
            }
            Asked::History(asked) => self.history(&asked),
            Asked::HistoryRemove { channel } => {
                if check::history(self.options, &channel)?.topic.is_some() {
                    return Err(ApiError::NOT_AVAILABLE);
                }
                self.store.remove_history(&channel).map_err(|why| internal(engine, &why))?;
                Ok(ReplyResult::Empty)
            }
            Asked::Channels { pattern } => {
                let of = |(name, num_clients)| (name, ChannelInfo { num_clients });
                let all = live.channels(&pattern);
                Ok(ReplyResult::Channels(all.into_iter().map(of).collect()))
            }
            Asked::Info => {
                let own = live.node(engine, self.store.thread.cx.now);
                let all = std::iter::once(own).chain(live.others());
                Ok(ReplyResult::Info(all.map(node_out).collect()))
            }
            Asked::Rpc { .. } => Err(ApiError::NOT_FOUND),
        }
    }

    fn publish(&mut self, asked: &Publish) -> Reply {
        let engine = self.store.engine;
        let plan = check::publish(self.options, &asked.channel, &asked.publication)?;
        let given = &asked.publication;
        let publication = Publication {
            data: given.data.clone(),
            tags: given.tags.clone(),
            ..Publication::default()
        };
        let mut keep = Keep::of(&plan);
        keep.idempotency_key.clone_from(&given.idempotency_key);
        keep.version = given.version;
        keep.version_epoch.clone_from(&given.version_epoch);
        let published = self.store.publish(&asked.channel, &publication, &keep);
        let (place, _) = published.map_err(|why| internal(engine, &why))?;
        engine.live.published.fetch_add(1, Relaxed);
        self.live.counts(&plan.namespace.name).published.fetch_add(1, Relaxed);
        Ok(ReplyResult::Publish { offset: place.offset, epoch: place.epoch })
    }

    fn history(&mut self, asked: &api::History) -> Reply {
        let engine = self.store.engine;
        let namespace = check::history(self.options, &asked.channel)?;
        if namespace.topic.is_some() {
            // It takes its time, which commands and batches do not have: TOPIC.READ.
            return Err(ApiError::NOT_AVAILABLE);
        }
        let since = asked.since.as_ref();
        if asked.reverse && since.is_some_and(|since| since.offset == 0) {
            return Err(ApiError::BAD_REQUEST);
        }
        let span = Span {
            since: since.map(|since| since.offset),
            limit: asked.limit.into(),
            reverse: asked.reverse,
        };
        let read = self.store.history(&asked.channel, span, namespace.history_meta_ttl);
        let (place, publications) = read.map_err(|why| internal(engine, &why))?;
        if since.is_some_and(|since| !since.epoch.is_empty() && since.epoch != place.epoch) {
            return Err(ApiError::UNRECOVERABLE_POSITION);
        }
        let publications = publications.into_iter().map(out).collect();
        let (offset, epoch) = (place.offset, place.epoch);
        Ok(ReplyResult::History(HistoryPage { publications, offset, epoch }))
    }

    /// Tells the other servers.
    fn tell(&mut self, message: Message) {
        self.live.tell(self.store.engine, self.store.thread, None, message);
    }
}

fn node_out(node: control::Node) -> Node {
    let control::Node { uid, name, version, num_clients, num_users, num_channels, .. } = node;
    let (num_subs, uptime) = (node.num_subs, node.uptime);
    let process = None;
    Node { uid, name, version, num_clients, num_users, num_subs, num_channels, uptime, process }
}

fn internal(engine: &Engine, why: &str) -> ApiError {
    engine::log!(engine.log, Verbose, "live: {}", why);
    ApiError::INTERNAL
}

impl Hub {
    /// Does what the API asks for.
    fn api(&mut self, cx: &mut Cx<'_>, asked: Asked) -> Reply {
        let (live, options) = (self.live(), self.options());
        Api { live: &live, options: &options, store: self.store(cx) }.run(asked)
    }
}

/// What commands LIVE.* call.
pub(crate) fn commands(live: Arc<Live>) -> LiveCall {
    let run = move |call: &mut Call<'_>,
                    method: &str,
                    words: &[&[u8]],
                    reply: &mut resp::Reply<'_>|
          -> Outcome {
        let asked = Method::of(method).ok_or(ApiError::NOT_FOUND);
        let done = asked.and_then(|method| {
            let asked = api::from_words(method, words)?;
            let (engine, thread) = (call.engine, &mut *call.thread);
            // The keys are the server's own, in its first database.
            let mut session = Session::inner(engine, thread.index);
            let store = Store { engine, thread, session: &mut session, prefix: &live.prefix };
            let options = live.options();
            Api { live: &live, options: &options, store }.run(asked)
        });
        match done {
            Ok(ReplyResult::Publish { offset, epoch }) => {
                reply.array(2);
                reply.int(offset as i64);
                reply.bulk(&*epoch);
                Ok(())
            }
            Ok(ReplyResult::Empty) => {
                reply.simple("OK");
                Ok(())
            }
            Ok(other) => {
                // `{"result":…}`
                let text = api::encode(&Ok(other));
                let inner = text.strip_prefix(b"{\"result\":").and_then(|t| t.strip_suffix(b"}"));
                reply.bulk(inner.unwrap_or(&text));
                Ok(())
            }
            Err(error) => Err(Fail::new(format!("ERR {} {}", error.code, error.message))),
        }
    };
    Arc::new(run)
}
