//! What happens in channels, by namespace: for metrics, and INFO.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::Live;
use super::proxies::{Asked, Figures as ProxyFigures};
use super::remote::{BrokerFigures, Remote};
use super::tally::{Sum, Tally};

/// Counts of one namespace since the start.
#[derive(Default)]
pub(crate) struct Counts {
    /// Publications of clients and of the API.
    pub(crate) published: AtomicU64,
    /// Publications that were sent to a subscriber, each.
    pub(crate) delivered: AtomicU64,
    /// Subscriptions that were given all that they had missed, and those that could not be.
    pub(crate) recovered: AtomicU64,
    pub(crate) not_recovered: AtomicU64,
    /// Of those that were given all: those that had missed something.
    pub(crate) recovered_some: AtomicU64,
}

/// The figures of one namespace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// Subscriptions, and channels with some, now.
    pub(crate) subscriptions: u64,
    pub(crate) channels: u64,
    pub(crate) published: u64,
    pub(crate) delivered: u64,
    pub(crate) recovered: u64,
    pub(crate) not_recovered: u64,
    pub(crate) recovered_some: u64,
}

impl Live {
    /// The counts of a namespace.
    pub(super) fn counts(&self, namespace: &str) -> Arc<Counts> {
        if let Some(there) = self.counts.read().get(namespace) {
            return Arc::clone(there);
        }
        Arc::clone(self.counts.write().entry(namespace.to_owned()).or_default())
    }

    /// The figures of all namespaces of which there is something to say, by name; empty for channels without one.
    pub(crate) fn figures(&self) -> BTreeMap<String, Figures> {
        let mut all: BTreeMap<String, Figures> = BTreeMap::new();
        for (name, counts) in &*self.counts.read() {
            let figures = all.entry(name.clone()).or_default();
            figures.published = counts.published.load(Relaxed);
            figures.delivered = counts.delivered.load(Relaxed);
            figures.recovered = counts.recovered.load(Relaxed);
            figures.not_recovered = counts.not_recovered.load(Relaxed);
            // It was counted behind `recovered`.
            figures.recovered_some = counts.recovered_some.load(Relaxed).min(figures.recovered);
        }
        let options = self.options();
        for (channel, n) in &*self.channels.lock() {
            // Subscribers may stay in a channel whose namespace a new file no longer has.
            let namespace = options.channel.find(channel).map(|found| found.namespace.name.clone());
            let figures = all.entry(namespace.unwrap_or_default()).or_default();
            figures.subscriptions += u64::from(*n);
            figures.channels += 1;
        }
        all
    }

    /// What a thread counts.
    pub(super) fn tally(&self, thread: usize) -> Arc<Tally> {
        if let Some(there) = self.tallies.read().get(thread) {
            return Arc::clone(there);
        }
        let mut all = self.tallies.write();
        let most = all.len().max(thread + 1);
        all.resize_with(most, Arc::default);
        Arc::clone(&all[thread])
    }

    /// What all threads have counted.
    pub(crate) fn tallied(&self) -> Sum {
        Sum::of(self.tallies.read().clone())
    }

    /// Connections that were refused since there were as many as may be.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Fields of INFO beyond the totals.
    pub(crate) fn info(&self) -> Vec<(String, String)> {
        let (users, nodes) = self.users_and_nodes();
        let mut fields = vec![
            ("live_users".into(), users.to_string()),
            ("live_nodes".into(), nodes.to_string()),
        ];
        fields.extend(self.broker_figures().iter().flat_map(BrokerFigures::info));
        for (name, f) in self.figures() {
            let value = format!(
                "subscriptions={},channels={},published={},delivered={},recovered={},not_recovered={}",
                f.subscriptions, f.channels, f.published, f.delivered, f.recovered, f.not_recovered
            );
            fields.push((format!("live_namespace_{name}"), value));
        }
        for (asked, f) in self.proxies.figures() {
            let value = format!(
                "requests={},errors={},timeouts={},waiting={},seconds={:.3}",
                f.requests, f.errors, f.timeouts, f.waiting, f.seconds
            );
            fields.push((format!("live_proxy_{}_{}", asked.event, asked.proxy), value));
        }
        fields
    }

    /// What there is to say of the broker, if there is one.
    pub(crate) fn broker_figures(&self) -> Option<BrokerFigures> {
        self.remote.as_ref().map(Remote::figures)
    }

    /// The figures of questions to applications, by event and proxy.
    pub(crate) fn proxy_figures(&self) -> Vec<(Asked, ProxyFigures)> {
        self.proxies.figures()
    }

    /// Users with connections now, and servers that share the channels, this one included.
    pub(crate) fn users_and_nodes(&self) -> (usize, usize) {
        (self.users.lock().len(), self.others().len() + 1)
    }
}
