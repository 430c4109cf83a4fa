//! Histories of topics for clients of the API: their connections wait.

use std::sync::Arc;
use std::time::Instant;

use ::live::api::{self, ApiError, HistoryPage, Method, check};

use super::topics::broker;
use super::{Cx, Hub};
use crate::live::api::{ReplyForm, note, out};
use crate::live::mail::Mail;
use crate::live::store::Span;
use crate::live::topics::{Found, Record, may_read, told};
use live_protocol::Publication;

impl Hub {
    /// Has a history read for a client of the API, which waits.
    pub(in super::super) fn read_for_api_history(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        asked: api::History,
        transport: bool,
    ) {
        if let Err(error) = self.begin_api_history(cx, id, asked, transport) {
            let (status, body) =
                ReplyForm::One { method: Method::History, transport }.encode(vec![Err(error)]);
            self.answer_waiting(cx, id, (status, &body));
        }
    }

    fn begin_api_history(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        asked: api::History,
        transport: bool,
    ) -> Result<(), ApiError> {
        check::history(&self.options, &asked.channel)?;
        let since = asked.since.clone();
        if asked.reverse && since.as_ref().is_some_and(|since| since.offset == 0) {
            return Err(ApiError::BAD_REQUEST);
        }
        let topic = self.topic_of(&asked.channel).ok().flatten();
        let topic = topic.ok_or(ApiError::UNKNOWN_CHANNEL)?;
        let engine = &cx.shared.engine;
        if !may_read(engine, &topic) {
            return Err(ApiError::NOT_AVAILABLE);
        }
        let broker = broker(engine, &topic).map_err(|_| ApiError::INTERNAL)?;
        let span = Span {
            since: since.as_ref().map(|since| since.offset),
            limit: asked.limit.into(),
            reverse: asked.reverse,
        };
        let binary = self.is_binary(&asked.channel);
        let began = self.options.prometheus.then(Instant::now);
        let tally = Arc::clone(&self.tally);
        let question = self.asked(cx, id);
        question.history(&broker, (Arc::clone(&topic), span), move |asked, read| {
            let reply = read
                .map_err(|why| match told(&asked.engine, &topic, &why).code {
                    102 => ApiError::UNKNOWN_CHANNEL,
                    _ => ApiError::INTERNAL,
                })
                .and_then(|found| page(&found, since.as_ref(), binary));
            note(&tally, "http", Some(Method::History), &reply, began);
            let (status, body) =
                ReplyForm::One { method: Method::History, transport }.encode(vec![reply]);
            asked.live.post(&asked.engine, asked.thread, Mail::Body(asked.client, status, body));
        });
        Ok(())
    }
}

/// The reply of the API.
fn page(found: &Found, since: Option<&api::Position>, binary: bool) -> api::Reply {
    if since.is_some_and(|since| !since.epoch.is_empty() && since.epoch != *found.epoch) {
        return Err(ApiError::UNRECOVERABLE_POSITION);
    }
    // The reply is JSON.
    if binary && !found.records.iter().all(|(_, record)| record.is_json()) {
        return Err(ApiError::NOT_AVAILABLE);
    }
    let publication = |(at, record): &(u64, Record)| {
        let (data, offset) = (record.data(false), at + 1);
        out(Publication { data, offset, ..Publication::default() })
    };
    let publications = found.records.iter().map(publication).collect();
    let (offset, epoch) = (found.top, found.epoch.to_string());
    Ok(api::ReplyResult::History(HistoryPage { publications, offset, epoch }))
}
