//! The server API: what applications ask over HTTP, and the same from commands.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use ::live::api::{
    self, ApiError, Body, ChannelInfo, DecodeError, HistoryPage, Method, Node, PublicationOut,
    Publish, Reply, ReplyResult, Request as Asked, check,
};
use ::live::{Namespace, Options, Unsubscribe};
use commands::{Fail, Outcome};
use engine::{Call, Engine, LiveCall, LiveWait, Session};
use http1::Method as Verb;
use http1::form::urlencoded;
use live_protocol::control::{self, Message};

use super::Live;
use super::hub::{Cx, Hub};
use super::mail::Mail;
use super::peers::{self, Waits};
use super::store::{Found, Keep, Op, READ_ONLY, Span, Store};
use super::tally::{Key, Tally};
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

pub(super) const JSON: &str = "application/json";

/// A request, or why it is none.
pub(super) type Decoded = Result<Asked, ApiError>;

/// Answers a request for the API; none: it is not for the API.
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
    let (asked, shape) = match decode(request, &name) {
        Ok(decoded) => decoded,
        Err((status, why)) => {
            return Some(request.plain(status, "text/plain; charset=utf-8", why.as_bytes()));
        }
    };
    if let ([Ok(Asked::Channels { pattern })], ReplyForm::One { .. }) = (&*asked, &shape)
        && hub.has_company(cx)
    {
        return Some(request.wait(Waits::Channels(pattern.clone())));
    }
    if let ([Ok(Asked::History(asked))], ReplyForm::One { transport, .. }) = (&*asked, &shape)
        && hub.is_of_topic(&asked.channel)
    {
        return Some(request.wait(Waits::Topic(asked.clone(), *transport)));
    }
    if hub.live().remote.is_some() {
        return Some(request.wait(Waits::Broker(asked, shape)));
    }
    let times = options.prometheus;
    let tally = Arc::clone(&hub.tally);
    let run = |asked: Result<Asked, ApiError>| {
        let began = times.then(Instant::now);
        let method = asked.as_ref().ok().map(method_of).or(shape.method());
        let reply = asked.and_then(|asked| hub.api(cx, asked));
        note(&tally, "http", method, &reply, began);
        reply
    };
    let replies = asked.into_iter().map(run).collect();
    let (status, body) = shape.encode(replies);
    Some(request.plain(status, JSON, &body))
}

/// What a request asks for, and what its answer looks like; or the status and the text of a refusal.
fn decode(
    request: &Request<'_, '_>,
    name: &str,
) -> Result<(Vec<Decoded>, ReplyForm), (u16, String)> {
    if name.is_empty() {
        let all = api::legacy(request.body).map_err(|_| (400, "Bad Request\n".to_owned()))?;
        let (ids, asked) = all.into_iter().map(|one| (one.id, one.request)).unzip();
        return Ok((asked, ReplyForm::Legacy(ids)));
    }
    let Some(method) = Method::of(name) else {
        return Err((404, "404 page not found\n".to_owned()));
    };
    let transport = request.options.http_api.error_mode_transport
        || request.head.text("x-centrifugo-error-mode") == Some("transport");
    match api::decode(method, request.body) {
        Err(DecodeError::Malformed(why)) => Err((400, why)),
        Err(DecodeError::Refused(error)) => {
            Ok((vec![Err(error)], ReplyForm::One { method, transport }))
        }
        Ok(Body::One(asked)) => Ok((vec![Ok(asked)], ReplyForm::One { method, transport })),
        Ok(Body::Batch { requests, .. }) => {
            let method = |asked: &Decoded| asked.as_ref().ok().map(method_of);
            let methods = requests.iter().map(method).collect();
            Ok((requests, ReplyForm::Batch(methods)))
        }
    }
}

/// What an answer looks like.
#[derive(Debug)]
pub(super) enum ReplyForm {
    /// With `transport`, an error is one of HTTP.
    One {
        method: Method,
        transport: bool,
    },
    Batch(Vec<Option<Method>>),
    /// With the numbers of the commands.
    Legacy(Vec<u32>),
}

impl ReplyForm {
    /// The method of the only request.
    fn method(&self) -> Option<Method> {
        if let Self::One { method, .. } = self { Some(*method) } else { None }
    }

    /// The status and the body.
    pub(super) fn encode(self, mut replies: Vec<Reply>) -> (u16, Vec<u8>) {
        match self {
            Self::One { transport, .. } => {
                let reply = replies.pop().unwrap_or(Err(ApiError::INTERNAL));
                match &reply {
                    Err(error) if transport => (error.status(), api::encode_error(error)),
                    _ => (200, api::encode(&reply)),
                }
            }
            Self::Batch(methods) => {
                let replies: Vec<_> = methods.into_iter().zip(replies).collect();
                (200, api::encode_batch(&replies))
            }
            Self::Legacy(ids) => {
                let mut body = Vec::new();
                for (id, reply) in ids.into_iter().zip(replies) {
                    body.extend(api::encode_legacy(id, &reply));
                    body.push(b'\n');
                }
                (200, body)
            }
        }
    }
}

/// Counts a request with its reply, if it is known when it began.
pub(super) fn note(
    tally: &Tally,
    protocol: &'static str,
    method: Option<Method>,
    reply: &Reply,
    began: Option<Instant>,
) {
    if let (Some(method), Some(began)) = (method, began) {
        let error = reply.as_ref().err().map(|error| error.code);
        tally.api(protocol, method.name(), error, began.elapsed());
    }
}

/// Whether a method changes keys, or tells subscribers of all servers something.
fn writes(method: Method) -> bool {
    matches!(method, Method::Publish | Method::Broadcast | Method::HistoryRemove)
}

pub(super) fn method_of(asked: &Asked) -> Method {
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
        let work = self.plan(asked);
        self.settle(work)
    }

    /// Does what remains to be done in the store of this server.
    fn settle(&mut self, work: Work) -> Reply {
        match work {
            Work::Done(reply) => reply,
            Work::Ask(op, then) => {
                let found = self.store.run(&op);
                then.finish(self.live, self.store.engine, found)
            }
            Work::All(all) => {
                Ok(ReplyResult::Broadcast(all.into_iter().map(|one| self.settle(one)).collect()))
            }
        }
    }

    /// Does what the API asks for, up to what is asked of the store.
    pub(super) fn plan(&mut self, asked: Asked) -> Work {
        self.try_plan(asked).unwrap_or_else(|error| Work::Done(Err(error)))
    }

    fn try_plan(&mut self, asked: Asked) -> Result<Work, ApiError> {
        let (engine, live) = (self.store.engine, self.live);
        if writes(method_of(&asked)) && live.remote.is_none() && engine.is_read_only() {
            return Err(ApiError::NOT_AVAILABLE.because(READ_ONLY));
        }
        let done = match asked {
            Asked::Publish(publish) => return self.publish(publish),
            Asked::Broadcast(broadcast) => {
                let publication = broadcast.publication;
                let each = |channel| {
                    let publication = publication.clone();
                    self.publish(Publish { channel, publication })
                        .unwrap_or_else(|error| Work::Done(Err(error)))
                };
                return Ok(Work::All(broadcast.channels.into_iter().map(each).collect()));
            }
            Asked::Subscribe(asked) => {
                let options = check::subscribe(self.options, &asked)?;
                self.tell(peers::subscribes(&asked, &options));
                live.post_all(engine, &Mail::Subscribe(asked, Box::new(options)));
                ReplyResult::Empty
            }
            Asked::Unsubscribe(asked) => {
                check::unsubscribe(self.options, &asked.channel)?;
                let end = Unsubscribe::SERVER;
                self.tell(peers::unsubscribes(&asked, &end));
                live.post_all(engine, &Mail::Unsubscribe(asked, end));
                ReplyResult::Empty
            }
            Asked::Disconnect(asked) => {
                self.tell(peers::disconnects(&asked));
                live.post_all(engine, &Mail::Disconnect(asked));
                ReplyResult::Empty
            }
            Asked::Refresh(asked) => {
                self.tell(peers::refreshes(&asked));
                live.post_all(engine, &Mail::Refresh(asked));
                ReplyResult::Empty
            }
            Asked::Presence { channel } => {
                return self.presence(channel, "presence", Finish::Presence);
            }
            Asked::PresenceStats { channel } => {
                return self.presence(channel, "presence_stats", Finish::PresenceStats);
            }
            Asked::History(asked) => return self.history(asked),
            Asked::HistoryRemove { channel } => {
                if check::history(self.options, &channel)?.topic.is_some() {
                    return Err(ApiError::NOT_AVAILABLE);
                }
                self.acts("history_remove", &channel);
                return Ok(Work::Ask(Op::RemoveHistory { channel }, Finish::Nothing));
            }
            Asked::Channels { pattern } => {
                let of = |(name, num_clients)| (name, ChannelInfo { num_clients });
                let all = live.channels(&pattern);
                ReplyResult::Channels(all.into_iter().map(of).collect())
            }
            Asked::Info => {
                let own = live.node(engine, self.store.thread.cx.now);
                let all = std::iter::once(own).chain(live.others());
                ReplyResult::Info(all.map(node_out).collect())
            }
            Asked::Rpc { .. } => return Err(ApiError::NOT_FOUND),
        };
        Ok(Work::Done(Ok(done)))
    }

    fn publish(&self, asked: Publish) -> Result<Work, ApiError> {
        let plan = check::publish(self.options, &asked.channel, &asked.publication)?;
        let given = asked.publication;
        let mut keep = Keep::of(&plan);
        keep.idempotency_key = given.idempotency_key;
        keep.version = given.version;
        keep.version_epoch = given.version_epoch;
        let time = self.store.thread.cx.now as u64;
        let publication =
            Publication { data: given.data, tags: given.tags, time, ..Publication::default() };
        let op = Op::Publish { channel: asked.channel, publication, keep };
        Ok(Work::Ask(op, Finish::Publish(plan.namespace)))
    }

    fn presence(
        &self,
        channel: String,
        action: &'static str,
        finish: Finish,
    ) -> Result<Work, ApiError> {
        check::presence(self.options, &channel)?;
        self.acts(action, &channel);
        Ok(Work::Ask(Op::Presence { channel }, finish))
    }

    fn history(&self, asked: api::History) -> Result<Work, ApiError> {
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
        self.acts("history", &asked.channel);
        let meta_ttl = namespace.history_meta_ttl;
        let epoch = asked.since.map(|since| since.epoch).filter(|epoch| !epoch.is_empty());
        let op = Op::History { channel: asked.channel, span, meta_ttl };
        Ok(Work::Ask(op, Finish::History(epoch)))
    }

    /// Something is asked of the store.
    fn acts(&self, action: &'static str, channel: &str) {
        if self.options.prometheus
            && let Ok(found) = self.options.channel.find(channel)
        {
            let namespace = found.namespace.name.as_str().into();
            self.live.tally(self.store.thread.index).count(Key::Action(action, namespace));
        }
    }

    /// Tells the other servers.
    fn tell(&mut self, message: Message) {
        self.live.tell(self.store.engine, self.store.thread, None, message);
    }
}

/// What remains to be done about a request.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them ask the store")]
pub(super) enum Work {
    Done(Reply),
    /// To ask the store, and to make a reply of what it says.
    Ask(Op, Finish),
    /// To do these, for one reply.
    All(Vec<Work>),
}

/// How a reply is made of what the store says.
#[derive(Debug)]
pub(super) enum Finish {
    Publish(Arc<Namespace>),
    Presence,
    PresenceStats,
    /// With the epoch that the history must have.
    History(Option<String>),
    Nothing,
}

impl Finish {
    pub(super) fn finish(
        self,
        live: &Live,
        engine: &Engine,
        found: Result<Found, String>,
    ) -> Reply {
        let found = found.map_err(|why| internal(engine, &why))?;
        match (self, found) {
            (Self::Publish(namespace), Found::Place(place)) => {
                engine.live.published.fetch_add(1, Relaxed);
                live.counts(&namespace.name).published.fetch_add(1, Relaxed);
                Ok(ReplyResult::Publish { offset: place.offset, epoch: place.epoch })
            }
            (Self::Presence, Found::Presence(all)) => {
                Ok(ReplyResult::Presence(all.into_iter().map(|(_, info)| info_out(info)).collect()))
            }
            (Self::PresenceStats, Found::Presence(all)) => {
                let (num_clients, num_users) = count(&all);
                Ok(ReplyResult::PresenceStats { num_clients, num_users })
            }
            (Self::History(since), Found::History(place, publications)) => {
                if since.is_some_and(|since| since != place.epoch) {
                    return Err(ApiError::UNRECOVERABLE_POSITION);
                }
                let publications = publications.into_iter().map(out).collect();
                let (offset, epoch) = (place.offset, place.epoch);
                Ok(ReplyResult::History(HistoryPage { publications, offset, epoch }))
            }
            (Self::Nothing, Found::Nothing) => Ok(ReplyResult::Empty),
            _ => Err(ApiError::INTERNAL),
        }
    }
}

/// How many clients there are, and how many users.
pub(super) fn count(presence: &[(String, ClientInfo)]) -> (u32, u32) {
    let mut users: Vec<&str> = presence.iter().map(|(_, info)| info.user.as_str()).collect();
    users.sort_unstable();
    users.dedup();
    (presence.len() as u32, users.len() as u32)
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

    /// Does what the API asks for, up to what is asked of the store.
    pub(super) fn api_plan(&mut self, cx: &mut Cx<'_>, asked: Asked) -> Work {
        let (live, options) = (self.live(), self.options());
        Api { live: &live, options: &options, store: self.store(cx) }.plan(asked)
    }
}

/// What commands LIVE.* call.
pub(crate) fn commands(live: Arc<Live>) -> LiveCall {
    let run = move |call: &mut Call<'_>,
                    method: &str,
                    words: &[&[u8]],
                    reply: &mut resp::Reply<'_>,
                    wait: LiveWait<'_>|
          -> Outcome {
        let method = Method::of(method);
        let asked = method.ok_or(ApiError::NOT_FOUND);
        if live.remote.is_none()
            && asked.as_ref().is_ok_and(|method| writes(*method))
            && let Some(refusal) = call.engine.refuses_as_replica()
        {
            return Err(refusal);
        }
        let asked = asked.and_then(|method| api::from_words(method, words));
        let options = live.options();
        let began = options.prometheus.then(Instant::now);
        let tally = live.tally(call.thread.index);
        let asked = match asked {
            Ok(asked) => asked,
            Err(error) => {
                let done = Err(error);
                note(&tally, "resp", method, &done, began);
                return write(done, reply);
            }
        };
        let (engine, thread) = (call.engine, &mut *call.thread);
        // The keys are the server's own, in its first database.
        let mut session = Session::inner(engine, thread.index);
        let store = Store { engine, thread, session: &mut session, prefixes: &live.prefixes };
        let mut api = Api { live: &live, options: &options, store };
        let Some(remote) = &live.remote else {
            let done = api.run(asked);
            note(&tally, "resp", method, &done, began);
            return write(done, reply);
        };
        match api.plan(asked) {
            Work::Done(done) => {
                note(&tally, "resp", method, &done, began);
                write(done, reply)
            }
            work => {
                let answer = wait(call)?;
                remote.settle(work, move |done| {
                    note(&tally, "resp", method, &done, began);
                    answer(Box::new(move |reply: &mut resp::Reply<'_>| write(done, reply)));
                });
                Ok(())
            }
        }
    };
    Arc::new(run)
}

/// Writes what was done for a command.
fn write(done: Reply, reply: &mut resp::Reply<'_>) -> Outcome {
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
}
