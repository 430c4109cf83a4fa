//! What a token says, by type. Nothing is believed yet.

use super::{ConnectToken, SubscribeToken, TokenSubscription};
use crate::json::Object;
use crate::subscription::Override;

/// Claims that both kinds of token have.
#[derive(Debug)]
pub(super) struct Registered {
    pub(super) issuer: String,
    pub(super) audience: Vec<String>,
    /// Milliseconds of the Unix clock.
    pub(super) expires_at_ms: Option<i64>,
    /// Milliseconds of the Unix clock.
    pub(super) not_before_ms: Option<i64>,
}

/// Reads the claims that both kinds of token have.
pub(super) fn registered(claims: &Object<'_>) -> Result<Registered, String> {
    let time = |name: &str| {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the cast saturates, and far beyond any date"
        )]
        let ms = claims.maybe_f64(name)?.map(|seconds| (seconds * 1000.0) as i64);
        Ok::<_, String>(ms)
    };
    // Read for its type alone, as Centrifugo does.
    time("iat")?;
    claims.string("jti")?;
    Ok(Registered {
        issuer: claims.string("iss")?,
        audience: audience(claims)?,
        expires_at_ms: time("exp")?,
        not_before_ms: time("nbf")?,
    })
}

/// One audience, or a list of them.
fn audience(claims: &Object<'_>) -> Result<Vec<String>, String> {
    if claims.is_list("aud") {
        return claims.strings("aud");
    }
    let one = claims.string("aud")?;
    Ok(if claims.has("aud") { vec![one] } else { Vec::new() })
}

/// The user: the subject, or another claim whose value may be of any type.
fn user(claims: &Object<'_>, user_claim: &str) -> Result<String, String> {
    if user_claim.is_empty() {
        return claims.string("sub");
    }
    claims.string("sub")?;
    Ok(match claims.raw(user_claim) {
        None | Some("null") => String::new(),
        Some(text) => serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()),
    })
}

/// When the connection or subscription expires: `expire_at`, where 0 is never, or else with the token.
fn expire_at(claims: &Object<'_>, registered: &Registered) -> Result<i64, String> {
    Ok(match claims.maybe_i64("expire_at")? {
        Some(at) => at.max(0),
        None => registered.expires_at_ms.map_or(0, |ms| ms.div_euclid(1000)),
    })
}

/// Info, data and options of a subscription.
fn subscription(object: &Object<'_>) -> Result<TokenSubscription, String> {
    Ok(TokenSubscription {
        info: object.bytes("info", "b64info")?,
        data: object.bytes("data", "b64data")?,
        differs: differs(object)?,
    })
}

/// Options that differ from the namespace's: `"override": {"presence": {"value": true}}`.
pub(crate) fn differs(object: &Object<'_>) -> Result<Override, String> {
    let Some(map) = object.object("override")? else { return Ok(Override::default()) };
    let value = |name: &str| map.object(name)?.map(|value| value.bool("value")).transpose();
    Ok(Override {
        presence: value("presence")?,
        join_leave: value("join_leave")?,
        force_push_join_leave: value("force_push_join_leave")?,
        force_positioning: value("force_positioning")?,
        force_recovery: value("force_recovery")?,
    })
}

/// Reads the claims of a connection.
pub(super) fn connection(
    claims: &Object<'_>,
    registered: &Registered,
    user_claim: &str,
) -> Result<ConnectToken, String> {
    if !claims.string("channel")?.is_empty() {
        return Err("it is the token of a subscription".into());
    }
    let named = claims.objects("subs")?;
    let channels = claims.strings("channels")?;
    let subs = if named.is_empty() {
        channels.into_iter().map(|name| (name, TokenSubscription::default())).collect()
    } else {
        let one = |(name, object): (String, Object<'_>)| Ok((name, subscription(&object)?));
        named.into_iter().map(one).collect::<Result<_, String>>()?
    };
    Ok(ConnectToken {
        user: user(claims, user_claim)?,
        expire_at: expire_at(claims, registered)?,
        info: claims.bytes("info", "b64info")?,
        meta: claims
            .raw("meta")
            .filter(|text| *text != "null")
            .map(|text| text.as_bytes().to_vec()),
        subs,
    })
}

/// Reads the claims of a subscription.
pub(super) fn subscribe(
    claims: &Object<'_>,
    registered: &Registered,
    user_claim: &str,
) -> Result<SubscribeToken, String> {
    let channel = claims.string("channel")?;
    if channel.is_empty() {
        return Err("it has no claim `channel`".into());
    }
    Ok(SubscribeToken {
        user: user(claims, user_claim)?,
        channel,
        client: claims.string("client")?,
        expire_at: expire_at(claims, registered)?,
        subscription: subscription(claims)?,
    })
}
