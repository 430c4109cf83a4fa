//! What is done at a shard.

use std::time::Duration;

use apus_client::Command;
use apus_client::broker::{self, HistoryFilter, Position, PublishOptions};
use bytes::Bytes;

use super::super::mail::Mail;
use super::super::store::{Found, Keep, Op, Place, Span};
use super::shard::{PATIENCE, Shard};
use super::{At, Begin, Letters, post};
use live_protocol::{ClientInfo, Publication};

/// How long messages may take to this server, after their change is seen in a history.
const ON_THEIR_WAY: Duration = Duration::from_millis(500);

impl Shard {
    /// Does what is asked.
    pub(super) async fn run(&self, op: &Op) -> Result<Found, String> {
        match op {
            Op::Publish { channel, publication, keep } => {
                let options = options(publication, keep);
                let link = self.link()?;
                let broker = link.broker.with_meta_ttl(keep.meta_ttl);
                let data = Bytes::from(publication.data.clone());
                let published = broker.publish(channel, data, &options).await;
                let Position { offset, epoch } = published.map_err(|why| self.fail(why))?.position;
                Ok(Found::Place(Place { offset, epoch }))
            }
            Op::History { channel, span, meta_ttl } => {
                let (place, publications) = self.history(channel, *span, *meta_ttl).await?;
                Ok(Found::History(place, publications))
            }
            Op::RemoveHistory { channel } => {
                let removed = self.link()?.broker.remove_history(channel).await;
                removed.map(|()| Found::Nothing).map_err(|why| self.fail(why))
            }
            Op::Presence { channel } => {
                let found = self.link()?.presence.get(channel).await;
                let all = found.map_err(|why| self.fail(why))?;
                let of = |(client, info)| (client, info_of(info));
                Ok(Found::Presence(all.into_iter().map(of).collect()))
            }
        }
    }

    pub(super) async fn history(
        &self,
        channel: &str,
        span: Span,
        meta_ttl: Duration,
    ) -> Result<(Place, Vec<Publication>), String> {
        let filter = HistoryFilter {
            since: span.since.map(|offset| Position { offset, epoch: String::new() }),
            limit: u32::try_from(span.limit).ok(),
            is_reverse: span.reverse,
        };
        let link = self.link()?;
        let read = link.broker.with_meta_ttl(meta_ttl).history(channel, &filter).await;
        let history = read.map_err(|why| self.fail(why))?;
        let Position { offset, epoch } = history.position;
        let publications = history.publications.into_iter().map(publication_of).collect();
        Ok((Place { offset, epoch }, publications))
    }

    /// A subscription begins: the channel is followed before its position is read.
    pub(super) async fn begin(&self, begin: &Begin) -> Result<(Place, Vec<Publication>), String> {
        self.ensure(&begin.channel, begin.span.is_some()).await?;
        if let Some(info) = &begin.presence {
            self.presence(&begin.channel, info, true).await?;
        }
        match begin.span {
            Some(span) => self.history(&begin.channel, span, begin.meta_ttl).await,
            None => Ok((Place::default(), Vec::new())),
        }
    }

    /// A client is in a channel, or not any more.
    pub(super) async fn presence(
        &self,
        channel: &str,
        info: &ClientInfo,
        there: bool,
    ) -> Result<(), String> {
        let link = self.link()?;
        let done = match there {
            true => link.presence.add(channel, &info.client, &info_to(info)).await,
            false => link.presence.remove(channel, &info.client, &info.user).await,
        };
        done.map_err(|why| self.fail(why))
    }

    /// Tells a channel that a client joins or leaves.
    pub(super) async fn tell_presence(
        &self,
        channel: &str,
        joins: bool,
        info: &ClientInfo,
    ) -> Result<(), String> {
        let link = self.link()?;
        let info = info_to(info);
        let told = match joins {
            true => link.broker.publish_join(channel, &info).await,
            false => link.broker.publish_leave(channel, &info).await,
        };
        told.map_err(|why| self.fail(why))
    }

    /// Tells other servers.
    pub(super) async fn tell(&self, channel: &str, message: &Bytes) -> Result<(), String> {
        let command = Command::new("PUBLISH").arg((channel, message));
        let link = self.link_if_any().ok_or("it was not reached yet")?;
        let told = link.client.call(command).await;
        told.map(drop).map_err(|why| self.fail(why))
    }

    /// Listens to what other servers tell: now, or when the shard is reached.
    pub(super) async fn listen(&self, channels: Vec<String>) {
        self.control.lock().clone_from(&channels);
        if let Some(link) = self.link_if_any() {
            // Without a connection the subscription is made with the next one.
            let _ = tokio::time::timeout(PATIENCE, link.own.subscribe(channels)).await;
        }
    }

    /// Has the hubs that follow a channel told of its position. `after_gap`: messages were lost, and a position that
    /// cannot be had is as bad as one that is too far.
    ///
    /// The channel is subscribed to once more: the confirmation says that no message after this is missed. What was
    /// published before the position was read is on its way then, so it gets its time.
    pub(super) async fn check(&self, (live, engine): At, channel: String, after_gap: bool) {
        let meta_ttl = {
            let Some(live) = live.upgrade() else { return };
            let options = live.options();
            let found = options.channel.find(&channel);
            found.map_or(Duration::ZERO, |found| found.namespace.history_meta_ttl)
        };
        let read = async {
            let link = self.link()?;
            if after_gap {
                let again = tokio::time::timeout(PATIENCE, link.subscriptions.subscribe(&channel));
                let again = again.await.map_err(|_| self.fail("no confirmation in time"))?;
                again.map_err(|why| self.fail(why))?;
            }
            let span = Span { since: None, limit: 0, reverse: false };
            self.history(&channel, span, meta_ttl).await
        };
        let read = read.await.map(|(place, _)| place);
        if read.is_err() && !after_gap {
            // The next look comes.
            return;
        }
        tokio::time::sleep(ON_THEIR_WAY).await;
        let threads = self.follows.lock().get(&channel).map(|follow| follow.threads.clone());
        let mail = Mail::Position(channel.into(), read.ok());
        let mut letters = Letters::new();
        for thread in threads.unwrap_or_default() {
            letters.entry(thread).or_default().push(mail.clone());
        }
        post(&(live, engine), letters);
    }
}

fn options(publication: &Publication, keep: &Keep) -> PublishOptions {
    PublishOptions {
        history_size: u32::try_from(keep.size).unwrap_or(u32::MAX),
        history_ttl: keep.ttl,
        idempotency_key: keep.idempotency_key.clone(),
        result_ttl: keep.idempotency_ttl,
        with_delta: keep.delta,
        version: keep.version,
        version_epoch: keep.version_epoch.clone(),
        info: publication.info.as_ref().map(info_to),
        tags: publication.tags.iter().cloned().collect(),
    }
}

fn info_to(info: &ClientInfo) -> broker::ClientInfo {
    broker::ClientInfo {
        client: info.client.clone(),
        user: info.user.clone(),
        connection_info: info.conn_info.clone().into(),
        channel_info: info.chan_info.clone().into(),
    }
}

fn info_of(info: broker::ClientInfo) -> ClientInfo {
    ClientInfo {
        user: info.user,
        client: info.client,
        conn_info: info.connection_info.into(),
        chan_info: info.channel_info.into(),
    }
}

fn publication_of(publication: broker::Publication) -> Publication {
    Publication {
        data: publication.data.into(),
        info: publication.info.map(info_of),
        offset: publication.offset,
        tags: publication.tags.into_iter().collect(),
        ..Publication::default()
    }
}
