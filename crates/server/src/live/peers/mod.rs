//! Other servers that share the channels: nodes of centrifuge, and servers of this kind.
//!
//! ```text
//!  API: subscribe, unsubscribe, disconnect, refresh ─┬─► mail to the hubs of all threads
//!                                                    └─► PREFIX.control ─► all other servers
//!  PREFIX.control, PREFIX.node.UID ─► the hub of the first thread ─► mail to the hubs of all threads
//! ```
//!
//! The first thread follows both PUB/SUB channels, tells the others of this server every three seconds, and forgets
//! servers that have not told of themselves for seven, as centrifuge does. Messages are in [`live_protocol::control`].

mod survey;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use ::live::api::{self, Target};
use ::live::{Disconnect, Override, SubscribeOptions, Unsubscribe};
use engine::{Engine, Thread};
use live_protocol::control::{self, Command, Message, Node, Who};

use super::Live;
use super::hub::{Cx, Hub};
use super::mail::Mail;
use super::tally::Key;

pub(super) use survey::{Surveys, Waiting, Waits};

/// How often a server tells of itself, in milliseconds, and after what time without that it is forgotten.
const TELL_EVERY_MS: i64 = 3000;
const FORGET_AFTER_MS: i64 = 2 * TELL_EVERY_MS + 1000;
/// Bytes of a reason that fit into the close frame of a WebSocket.
const REASON_MAX: usize = 123;
/// Servers that are known at most: each message of an unknown one is answered.
const NODES_MAX: usize = 1000;

/// What is known of others.
#[derive(Default)]
pub(crate) struct Peers {
    /// By identifier, with the Unix milliseconds of the last message.
    nodes: HashMap<String, (Node, i64)>,
    told_ms: i64,
    /// The first thread follows the channels of control messages.
    follows: bool,
    pub(super) surveys: Surveys,
}

fn who(target: &Target) -> Who {
    Who {
        user: target.user.clone(),
        client: target.client.clone(),
        session: target.session.clone(),
    }
}

fn target(who: Who) -> Target {
    Target { user: who.user, client: who.client, session: who.session }
}

/// A request about subscribing, for the other servers: they apply the options of this one.
pub(super) fn subscribes(asked: &api::Subscribe, options: &SubscribeOptions) -> Message {
    Message::Subscribe(control::Subscribe {
        who: who(&asked.target),
        channel: asked.channel.clone(),
        emit_presence: options.presence,
        emit_join_leave: options.join_leave,
        push_join_leave: options.push_join_leave,
        expire_at: options.expire_at,
        position: options.positioning,
        recover: options.recovery,
        channel_info: options.info.clone(),
        data: options.data.clone(),
        recover_since: asked.recover_since.as_ref().map(|at| (at.offset, at.epoch.clone())),
        source: options.source as u32,
    })
}

pub(super) fn unsubscribes(asked: &api::Unsubscribe, end: &Unsubscribe) -> Message {
    Message::Unsubscribe(control::Unsubscribe {
        who: who(&asked.target),
        channel: asked.channel.clone(),
        code: end.code,
        reason: end.reason.to_string(),
    })
}

pub(super) fn disconnects(asked: &api::DisconnectUser) -> Message {
    Message::Disconnect(control::Disconnect {
        who: who(&asked.target),
        whitelist: asked.whitelist.clone(),
        code: asked.disconnect.code,
        reason: asked.disconnect.reason.to_string(),
    })
}

pub(super) fn refreshes(asked: &api::Refresh) -> Message {
    Message::Refresh(control::Refresh {
        who: who(&asked.target),
        expired: asked.expired,
        expire_at: asked.expire_at,
        info: asked.info.clone(),
    })
}

impl Live {
    fn control_channel(&self) -> String {
        format!("{}.control", self.prefixes.broker)
    }

    fn node_channel(&self, node: &str) -> String {
        format!("{}.node.{node}", self.prefixes.broker)
    }

    /// Tells all other servers, or one.
    pub(super) fn tell(
        &self,
        engine: &Engine,
        thread: &mut Thread,
        to: Option<&str>,
        message: Message,
    ) {
        let channel = to.map_or_else(|| self.control_channel(), |node| self.node_channel(node));
        let bytes = Command { uid: self.node.clone(), message }.encode();
        if self.options().prometheus {
            self.tally(thread.index).count(Key::Told("control", "".into()));
        }
        if let Some(remote) = &self.remote {
            return remote.tell(channel, bytes);
        }
        thread.publish_in_order(engine, channel.as_bytes(), &bytes);
    }

    /// What this server tells of itself.
    pub(super) fn node(&self, engine: &Engine, now_ms: i64) -> Node {
        let counts = &engine.live;
        let count =
            |n: &std::sync::atomic::AtomicU64| u32::try_from(n.load(Relaxed)).unwrap_or(u32::MAX);
        Node {
            uid: self.node.clone(),
            name: self.options().node_name.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            num_clients: count(&counts.clients),
            num_users: u32::try_from(self.users.lock().len()).unwrap_or(u32::MAX),
            num_subs: count(&counts.subscriptions),
            num_channels: count(&counts.channels),
            uptime: u32::try_from(((now_ms - engine.started_ms) / 1000).max(0)).unwrap_or(u32::MAX),
            ..Node::default()
        }
    }

    /// The other servers.
    pub(super) fn others(&self) -> Vec<Node> {
        let peers = self.peers.lock();
        let mut nodes: Vec<Node> = peers.nodes.values().map(|(node, _)| node.clone()).collect();
        nodes.sort_by(|a, b| a.uid.cmp(&b.uid));
        nodes
    }

    /// The server ends: others need not wait until they miss it.
    pub(crate) fn leave(&self, engine: &Engine, thread: &mut Thread) {
        if self.peers.lock().follows {
            self.tell(engine, thread, None, Message::Shutdown);
        }
    }
}

impl Hub {
    /// On the first thread: tells of this server when the time has come, and forgets others that are gone.
    pub(super) fn keep_company(&mut self, cx: &mut Cx<'_>) {
        let live = self.live();
        let engine = &cx.shared.engine;
        let now = cx.thread.cx.now;
        let mut peers = live.peers.lock();
        let begins = !std::mem::replace(&mut peers.follows, true);
        let tells = begins || (now - peers.told_ms).abs() >= TELL_EVERY_MS;
        if tells {
            peers.told_ms = now;
            peers.nodes.retain(|_, (_, seen)| now - *seen <= FORGET_AFTER_MS);
        }
        let late = peers.surveys.take_late(now);
        drop(peers);
        if let (true, Some(remote)) = (begins, &live.remote) {
            remote.listen(&[live.control_channel(), live.node_channel(&live.node)]);
        } else if begins {
            cx.thread.tap(engine, live.control_channel().as_bytes());
            cx.thread.tap(engine, live.node_channel(&live.node).as_bytes());
        }
        if tells {
            let node = live.node(engine, now);
            live.tell(engine, cx.thread, None, Message::Node(node));
        }
        late.into_iter().for_each(|survey| survey.fail(&live, engine));
    }

    /// Whether a PUB/SUB channel is one of control messages, which is then dealt with.
    pub(super) fn hear(&mut self, cx: &mut Cx<'_>, channel: &str, message: &[u8]) -> bool {
        let is_control = channel == "control" || channel.starts_with("node.");
        if is_control && cx.thread.index == 0 {
            match Command::of(message) {
                Some(command) if command.uid != self.live().node => {
                    self.tally.count(Key::Heard("control"));
                    self.heed(cx, command);
                }
                Some(_) => {}
                None => engine::log!(
                    cx.shared.engine.log,
                    Verbose,
                    "live: a control message that is none, of {} bytes",
                    message.len()
                ),
            }
        }
        is_control
    }

    fn heed(&mut self, cx: &mut Cx<'_>, Command { uid, message }: Command) {
        let live = self.live();
        let engine = Arc::clone(&cx.shared.engine);
        match message {
            Message::Node(node) => self.meet(cx, node),
            Message::Shutdown => {
                live.peers.lock().nodes.remove(&uid);
            }
            Message::Subscribe(asked) => {
                if let Some(mail) = self.subscription(asked) {
                    live.post_all(&engine, &mail);
                }
            }
            Message::Unsubscribe(asked) => {
                let end = Unsubscribe { code: asked.code, reason: asked.reason.into() };
                let asked = api::Unsubscribe { channel: asked.channel, target: target(asked.who) };
                live.post_all(&engine, &Mail::Unsubscribe(asked, end));
            }
            Message::Disconnect(asked) => {
                // No other codes can be in the close frame of a WebSocket.
                let code = if (3000..5000).contains(&asked.code) { asked.code } else { 3503 };
                let mut reason = asked.reason;
                while reason.len() > REASON_MAX {
                    reason.pop();
                }
                let asked = api::DisconnectUser {
                    target: target(asked.who),
                    disconnect: Disconnect { code, reason: reason.into() },
                    whitelist: asked.whitelist,
                };
                live.post_all(&engine, &Mail::Disconnect(asked));
            }
            Message::Refresh(asked) => {
                let asked = api::Refresh {
                    target: target(asked.who),
                    expired: asked.expired,
                    expire_at: asked.expire_at,
                    info: asked.info,
                };
                live.post_all(&engine, &Mail::Refresh(asked));
            }
            Message::SurveyRequest(asked) => {
                let answer = live.answer_survey(&engine, asked);
                live.tell(&engine, cx.thread, Some(&uid), Message::SurveyResponse(answer));
            }
            Message::SurveyResponse(answer) => live.survey_answered(&engine, &uid, answer),
            // Applications that embed centrifuge send them to each other.
            Message::Notification(..) => {}
        }
    }

    /// A server tells of itself. One that is new is told of this one.
    fn meet(&mut self, cx: &mut Cx<'_>, mut node: Node) {
        let live = self.live();
        let now = cx.thread.cx.now;
        let uid = node.uid.clone();
        let mut peers = live.peers.lock();
        let before = peers.nodes.get_mut(&uid);
        let is_new = before.is_none();
        if let Some((before, _)) = before
            && node.metrics.is_none()
        {
            // They are told of only when they have changed.
            node.metrics = before.metrics.take();
        }
        if is_new && peers.nodes.len() >= NODES_MAX {
            return;
        }
        peers.nodes.insert(uid.clone(), (node, now));
        drop(peers);
        if is_new {
            let own = live.node(&cx.shared.engine, now);
            live.tell(&cx.shared.engine, cx.thread, Some(&uid), Message::Node(own));
        }
    }

    /// A subscription that another server has admitted, with its options. None: this one does not know the namespace.
    fn subscription(&self, asked: control::Subscribe) -> Option<Mail> {
        let recover_since = asked.recover_since;
        let request = api::Subscribe {
            channel: asked.channel,
            target: target(asked.who),
            expire_at: asked.expire_at,
            info: asked.channel_info,
            data: asked.data,
            recover_since: recover_since.map(|(offset, epoch)| api::Position { offset, epoch }),
            differs: Override {
                presence: Some(asked.emit_presence),
                join_leave: Some(asked.emit_join_leave),
                force_push_join_leave: Some(asked.push_join_leave),
                force_positioning: Some(asked.position),
                force_recovery: Some(asked.recover),
            },
        };
        let options = api::check::subscribe(&self.options(), &request).ok()?;
        Some(Mail::Subscribe(request, Box::new(options)))
    }
}
