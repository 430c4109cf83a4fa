//! Questions to applications: what a proxy or a function in the store is asked, and what its answer comes to. The
//! JSON is that of Centrifugo's proxies.
//!
//! ```text
//!  Step::Proxy ─► request.rs: JSON, headers ─► HTTP or FCALL ─► Outcome ─► answer.rs: an answer, or a Refusal
//! ```
//!
//! A function in the store is called with the kind of event as its key-less first argument and the request's JSON as
//! the second, and replies with the response's JSON: `FCALL name 0 publish '{…}'`.

mod answer;
mod forwards;
mod request;

pub use answer::{
    ConnectAnswer, PublishAnswer, Refreshed, Retry, connect, publish, refresh, rpc, sub_refresh,
    subscribe,
};
pub use forwards::Forwards;
pub use request::{Caller, Event, headers, request};

use crate::json::Object;
use crate::options::Proxy;
use std::time::Duration;

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A response: the status 200 and its body, or a function's reply.
    Answer(Vec<u8>),
    /// Another status.
    Status(u16),
    /// No response within this time.
    TimedOut(Duration),
    /// No response, and why.
    Failed(String),
}

impl Outcome {
    /// Why there is no response.
    #[must_use]
    pub fn why_none(&self) -> Option<String> {
        match self {
            Self::Answer(_) | Self::Status(_) => None,
            Self::TimedOut(timeout) => Some(format!("no response within {timeout:?}")),
            Self::Failed(why) => Some(why.clone()),
        }
    }

    /// Whether the application has not said what is to be done: there is no response, it is not JSON, or its status
    /// means nothing.
    #[must_use]
    pub fn is_failure(&self, proxy: &Proxy) -> bool {
        match self {
            Self::Answer(body) => Object::parse(body).is_err(),
            Self::Status(status) => proxy.status_transforms.iter().all(|t| t.status != *status),
            Self::TimedOut(_) | Self::Failed(_) => true,
        }
    }
}

/// Most bytes of a response.
pub const ANSWER_MAX: usize = 4 << 20;
