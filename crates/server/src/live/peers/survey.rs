//! Questions to all servers: one asks, each answers, and the answer to a client of the API is the sum. Meanwhile the
//! client's connection waits, and so do the requests behind it.
//!
//! | survey | question | answer |
//! |---|---|---|
//! | `channels` | a pattern | channels that match and have subscribers, and how many (as Centrifugo's) |
//! | `centrifuge_emulation` | commands for a session, which came to another server than its stream | nothing |

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::live::api::{ApiError, ChannelInfo, History, ReplyResult};
use engine::Engine;
use http1::response;
use live_protocol::control::{self, Message, SurveyRequest, SurveyResponse};

use super::super::api::{Decoded, JSON, ReplyForm, Work, method_of, note};
use super::super::emulation::Emulation;
use super::super::hub::{AnswerForm, Cx, Hub};
use super::super::transport::with_hub;
use super::super::{Key, Live, Mail};
use crate::web::{At, Streaming};
use live_protocol::{Form, decode_json, decode_protobuf};

/// How long a survey waits for answers.
const WAITS_MS: i64 = 10_000;
/// Surveys that wait at most.
const SURVEYS_MAX: usize = 1000;

const CHANNELS: &str = "channels";
const EMULATION: &str = "centrifuge_emulation";

/// Codes of failures: those of Centrifugo, and for commands those of centrifuge.
const INVALID_REQUEST: u32 = 2;
const METHOD_NOT_FOUND: u32 = 3;
const BAD_EMULATION: u32 = 1;
const NO_SESSION: u32 = 2;

/// A survey for the channels of all servers.
pub(crate) struct Survey {
    /// The client that waits: the thread of its connection, and its number.
    asks: (usize, u64),
    until_ms: i64,
    /// Servers that have not answered.
    missing: HashSet<String>,
    found: BTreeMap<String, u32>,
}

/// Surveys that wait for answers.
#[derive(Default)]
pub(crate) struct Surveys {
    last: u64,
    all: HashMap<u64, Survey>,
}

impl Surveys {
    /// Takes those whose time is over.
    pub(super) fn take_late(&mut self, now_ms: i64) -> Vec<Survey> {
        if self.all.is_empty() {
            return Vec::new();
        }
        self.all.extract_if(|_, survey| survey.until_ms <= now_ms).map(|(_, s)| s).collect()
    }
}

impl Survey {
    fn add(&mut self, channels: Vec<(String, u32)>) {
        for (channel, n) in channels {
            let sum = self.found.entry(channel).or_default();
            *sum = sum.saturating_add(n);
        }
    }

    fn finish(self, live: &Live, engine: &Engine) {
        self.count(live, engine, None);
        let of = |(name, num_clients)| (name, ChannelInfo { num_clients });
        let reply = Ok(ReplyResult::Channels(self.found.into_iter().map(of).collect()));
        live.post(engine, self.asks.0, Mail::Answer(self.asks.1, reply));
    }

    /// Counts the survey, and the request of the API that has asked for it.
    fn count(&self, live: &Live, engine: &Engine, error: Option<u32>) {
        if live.options().prometheus {
            let began = self.until_ms - WAITS_MS;
            let took = (engine.clock.wall_ms() as i64 - began).max(0) as u64;
            let (tally, took) = (live.tally(self.asks.0), Duration::from_millis(took));
            tally.time(Key::Survey(CHANNELS), took);
            tally.count(Key::Action("survey", "".into()));
            tally.api("http", CHANNELS, error, took);
        }
    }

    /// A server has failed, or has not answered.
    pub(super) fn fail(self, live: &Live, engine: &Engine) {
        self.count(live, engine, Some(ApiError::INTERNAL.code));
        let missing: Vec<_> = self.missing.iter().map(String::as_str).collect();
        engine::log!(
            engine.log,
            Warning,
            "live: the survey for channels has no answer of {}",
            missing.join(", ")
        );
        live.post(engine, self.asks.0, Mail::Answer(self.asks.1, Err(ApiError::INTERNAL)));
    }
}

impl Live {
    /// Answers a question of another server.
    pub(super) fn answer_survey(&self, engine: &Engine, asked: SurveyRequest) -> SurveyResponse {
        let answer = match asked.op.as_str() {
            CHANNELS => match control::channels_asked(&asked.data) {
                Some(pattern) => Ok(control::answer_channels(&self.channels(&pattern))),
                None => Err(INVALID_REQUEST),
            },
            EMULATION => self.emulate(engine, &asked.data).map(|()| Vec::new()),
            _ => Err(METHOD_NOT_FOUND),
        };
        let (code, data) = match answer {
            Ok(data) => (0, data),
            Err(code) => (code, Vec::new()),
        };
        SurveyResponse { id: asked.id, code, data }
    }

    /// Commands for a stream of this server, which came to another one.
    fn emulate(&self, engine: &Engine, data: &[u8]) -> Result<(), u32> {
        let asked = Emulation::of_protobuf(data).ok_or(BAD_EMULATION)?;
        let (thread, id, wire) = self.find_session(&asked.session).ok_or(NO_SESSION)?;
        let commands = match wire.form {
            Form::Json => {
                let text: String =
                    serde_json::from_slice(&asked.data).map_err(|_| BAD_EMULATION)?;
                decode_json(text.as_bytes())
            }
            Form::Protobuf => decode_protobuf(&asked.data),
        };
        self.post(engine, thread, Mail::Commands(id, commands.ok_or(BAD_EMULATION)?));
        Ok(())
    }

    /// Passes commands on to the server that has their session. False: it is not known.
    pub(in super::super) fn pass_on(&self, cx: &mut Cx<'_>, node: &str, data: Vec<u8>) -> bool {
        let mut peers = self.peers.lock();
        if !peers.nodes.contains_key(node) {
            return false;
        }
        // Nobody waits for its answer.
        peers.surveys.last += 1;
        let asked = SurveyRequest { id: peers.surveys.last, op: EMULATION.to_owned(), data };
        drop(peers);
        self.tell(&cx.shared.engine, cx.thread, Some(node), Message::SurveyRequest(asked));
        true
    }

    pub(super) fn survey_answered(&self, engine: &Engine, uid: &str, answer: SurveyResponse) {
        let mut peers = self.peers.lock();
        let all = &mut peers.surveys.all;
        let Some(survey) = all.get_mut(&answer.id) else { return };
        if !survey.missing.contains(uid) {
            return;
        }
        let channels = Some(&answer.data).filter(|_| answer.code == 0);
        let channels = channels.and_then(|data| control::channels_answered(data));
        let failed = channels.is_none();
        if let Some(channels) = channels {
            survey.missing.remove(uid);
            survey.add(channels);
        }
        let done = failed || survey.missing.is_empty();
        let survey = done.then(|| all.remove(&answer.id)).flatten();
        drop(peers);
        match survey {
            Some(survey) if failed => survey.fail(self, engine),
            Some(survey) => survey.finish(self, engine),
            None => {}
        }
    }
}

impl Hub {
    /// Whether a question about channels is for other servers, too.
    pub(in super::super) fn has_company(&self, cx: &Cx<'_>) -> bool {
        // What a replica publishes, its primary does not hear.
        let hears = self.live().remote.is_some() || !cx.shared.engine.is_replica();
        hears && !self.live().peers.lock().nodes.is_empty()
    }

    /// Asks all servers for their channels, for a client of the API that waits.
    fn ask_for_channels(&mut self, cx: &mut Cx<'_>, id: u64, pattern: &str) {
        let live = self.live();
        let engine = &cx.shared.engine;
        let mut survey = Survey {
            asks: (cx.thread.index, id),
            until_ms: cx.thread.cx.now + WAITS_MS,
            missing: HashSet::new(),
            found: live.channels(pattern).into_iter().collect(),
        };
        let mut peers = live.peers.lock();
        survey.missing.extend(peers.nodes.keys().cloned());
        if survey.missing.is_empty() {
            drop(peers);
            return survey.finish(&live, engine);
        }
        if peers.surveys.all.len() >= SURVEYS_MAX {
            drop(peers);
            return survey.fail(&live, engine);
        }
        peers.surveys.last += 1;
        let number = peers.surveys.last;
        peers.surveys.all.insert(number, survey);
        drop(peers);
        let data = control::ask_channels(pattern);
        let asked = SurveyRequest { id: number, op: CHANNELS.to_owned(), data };
        live.tell(engine, cx.thread, None, Message::SurveyRequest(asked));
    }
}

/// What a request of the API waits for.
pub(in super::super) enum Waits {
    /// For the channels of other servers, that match a pattern.
    Channels(String),
    /// For the broker.
    Broker(Vec<Decoded>, ReplyForm),
    /// For the history of a topic; with `true`, an error is one of HTTP.
    Topic(History, bool),
}

/// A request of the API that waits for other servers.
pub(in super::super) struct Waiting {
    pub(in super::super) waits: Option<Waits>,
    pub(in super::super) form: AnswerForm,
}

impl Streaming for Waiting {
    fn begin(&mut self, at: &mut At<'_>) {
        let (id, waits) = (at.id, self.waits.take());
        let form = std::mem::take(&mut self.form);
        with_hub(at, |hub, cx| {
            hub.waiting.insert(id, form);
            match waits {
                Some(Waits::Channels(pattern)) => hub.ask_for_channels(cx, id, &pattern),
                Some(Waits::Broker(asked, shape)) => hub.answer_later(cx, id, asked, shape),
                Some(Waits::Topic(asked, transport)) => {
                    hub.read_for_api_history(cx, id, asked, transport);
                }
                None => {}
            }
        });
    }

    fn ended(&mut self, at: &mut At<'_>) {
        let id = at.id;
        with_hub(at, |hub, _| {
            hub.waiting.remove(&id);
        });
    }
}

impl Hub {
    /// The answer for a client of the API that has waited.
    pub(in super::super) fn answer_waiting(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        (status, body): (u16, &[u8]),
    ) {
        let Some(AnswerForm { date, keeps, minor }) = self.waiting.remove(&id) else { return };
        let mut answer = Vec::new();
        response::begin(&mut answer, status, &date);
        response::field(&mut answer, "Content-Type", JSON);
        response::length(&mut answer, body.len());
        response::end(&mut answer, keeps, minor);
        answer.extend_from_slice(body);
        if keeps {
            cx.outlets.answer(id, &answer);
        } else {
            cx.outlets.end(id, &answer);
        }
    }

    /// Does what a client of the API asks for, of which the broker has a part.
    fn answer_later(&mut self, cx: &mut Cx<'_>, id: u64, asked: Vec<Decoded>, shape: ReplyForm) {
        let began = self.options().prometheus.then(Instant::now);
        let plan = |asked| match asked {
            Ok(asked) => self.api_plan(cx, asked),
            Err(error) => Work::Done(Err(error)),
        };
        let methods: Vec<_> = asked.iter().map(|one| one.as_ref().ok().map(method_of)).collect();
        let work: Vec<Work> = asked.into_iter().map(plan).collect();
        let (live, engine) = (self.live(), Arc::clone(&cx.shared.engine));
        let thread = cx.thread.index;
        let (at, tally) = (Arc::clone(&live), Arc::clone(&self.tally));
        if let Some(remote) = &live.remote {
            remote.settle_all(work, move |replies| {
                for (method, reply) in methods.into_iter().zip(&replies) {
                    note(&tally, "http", method, reply, began);
                }
                let (status, body) = shape.encode(replies);
                at.post(&engine, thread, Mail::Body(id, status, body));
            });
        }
    }
}
