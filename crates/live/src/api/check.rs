//! What the options say of a request: whether the channel's namespace exists and offers what is asked for.
//!
//! The API is trusted: nobody's permissions are looked at, and names need not match `channel_regex`.

use super::request::{ApiError, Publication};
use crate::code::Error;
use crate::options::{DataFormat, Namespace, Options};
use crate::publication::is_json;
use crate::subscription::{Override, Source, SubscribeOptions};
use std::sync::Arc;
use std::time::Duration;

/// How something is published.
#[derive(Clone, Debug)]
pub struct PublishPlan {
    /// The channel's namespace.
    pub namespace: Arc<Namespace>,
    /// Most publications of the history and how long it is kept; `None`: it is not kept.
    pub history: Option<(usize, Duration)>,
    /// It may go out as a delta.
    pub delta: bool,
}

fn find(options: &Options, channel: &str) -> Result<Arc<Namespace>, ApiError> {
    if channel.is_empty() {
        return Err(ApiError::BAD_REQUEST.because("`channel` is missing"));
    }
    let found = options.channel.namespace(channel).map_err(|error: Error| match error.code {
        108 => ApiError::NOT_AVAILABLE,
        _ => ApiError::UNKNOWN_CHANNEL,
    })?;
    Ok(Arc::clone(found))
}

/// Checks a publication.
///
/// # Errors
/// The namespace is not known, its channels are topics, or the data are not in its format.
pub fn publish(
    options: &Options,
    channel: &str,
    publication: &Publication,
) -> Result<PublishPlan, ApiError> {
    let namespace = find(options, channel)?;
    if namespace.topic.is_some() {
        return Err(ApiError::NOT_AVAILABLE);
    }
    data(&publication.data, namespace.publication_data_format)
        .map_err(|why| ApiError::BAD_REQUEST.because(why))?;
    Ok(plan(namespace, publication.skip_history, publication.delta))
}

pub(crate) fn plan(namespace: Arc<Namespace>, skip_history: bool, delta: bool) -> PublishPlan {
    let has_history = namespace.has_history() && !skip_history;
    PublishPlan {
        history: has_history.then_some((namespace.history_size, namespace.history_ttl)),
        delta: delta || namespace.delta_publish,
        namespace,
    }
}

/// Checks what is published against the namespace's format.
///
/// # Errors
/// A text: what it must be.
pub fn data(data: &[u8], format: DataFormat) -> Result<(), &'static str> {
    let first = data.iter().find(|byte| !byte.is_ascii_whitespace());
    match format {
        DataFormat::NotEmpty if data.is_empty() => Err("`data` is missing"),
        DataFormat::Json if !is_json(data) => Err("`data` must be JSON"),
        DataFormat::JsonObject if first != Some(&b'{') || !is_json(data) => {
            Err("`data` must be a JSON object")
        }
        _ => Ok(()),
    }
}

/// Checks a channel that presence is asked of.
///
/// # Errors
/// The namespace is not known, or has no presence.
pub fn presence(options: &Options, channel: &str) -> Result<Arc<Namespace>, ApiError> {
    let namespace = find(options, channel)?;
    if namespace.presence { Ok(namespace) } else { Err(ApiError::NOT_AVAILABLE) }
}

/// Checks a channel whose history is asked of or removed.
///
/// # Errors
/// The namespace is not known, or has no history.
pub fn history(options: &Options, channel: &str) -> Result<Arc<Namespace>, ApiError> {
    let namespace = find(options, channel)?;
    if namespace.has_history() { Ok(namespace) } else { Err(ApiError::NOT_AVAILABLE) }
}

/// Checks a subscription that the API makes.
///
/// # Errors
/// The namespace is not known.
pub fn subscribe(
    options: &Options,
    request: &super::Subscribe,
) -> Result<SubscribeOptions, ApiError> {
    let namespace = find(options, &request.channel)?;
    let mut subscription = SubscribeOptions::of(&namespace, Source::ServerApi);
    let differs: &Override = &request.differs;
    subscription.apply(&namespace, differs);
    subscription.expire_at = request.expire_at.max(0);
    subscription.info.clone_from(&request.info);
    subscription.data.clone_from(&request.data);
    Ok(subscription)
}

/// Checks the channel of an unsubscription; empty: all channels.
///
/// # Errors
/// The namespace is not known.
pub fn unsubscribe(options: &Options, channel: &str) -> Result<(), ApiError> {
    if channel.is_empty() { Ok(()) } else { find(options, channel).map(|_| ()) }
}
