//! Live blocks: `{% call live("likes", tag="ul", class="wide") %}…{% endcall %}`.
//!
//! The block is written inside an element with the attribute `data-live`, which has the block's name, and the
//! host is told of its content. As a call block it is Jinja2 for every other engine, too. `live` is known where
//! the host names it among its functions.

use super::{Collected, Machine, operation};
use crate::error::{Error, Kind, Result};
use crate::escape::{Escape, html};
use crate::value::{Object, Value};

/// The function that makes blocks live.
pub(super) const LIVE: &str = "live";
/// Bytes of a block's name.
const NAME_MAX: usize = 200;

fn wrong(text: impl Into<String>) -> Error {
    Error::new(Kind::Arguments, text)
}

/// Whether this may be the name of an element or an attribute.
fn is_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    name.bytes().all(fits) && name.bytes().next().is_some_and(|b| b.is_ascii_lowercase())
}

impl<'t> Machine<'t, '_> {
    /// Runs the body of a live block. Returns its element.
    pub(super) fn live(&mut self, of: Collected<'t>) -> Result<Value<'t>> {
        if self.env.escape != Escape::Html {
            return Err(operation("live blocks are parts of HTML"));
        }
        if self.in_live {
            return Err(operation("there are no live blocks in live blocks"));
        }
        let name = match &of.pos[..] {
            [name] => crate::show::to_text(name, &self.env.meter)?,
            _ => return Err(wrong("a live block has one name")),
        };
        if name.is_empty() || name.len() > NAME_MAX {
            return Err(wrong(format!("the name of a live block has 1 to {NAME_MAX} bytes")));
        }
        let (mut caller, mut tag, mut attributes) = (None, "div", Vec::new());
        for (key, value) in of.names.iter().zip(&of.values) {
            match (&**key, value) {
                ("caller", Value::Object(Object::Macro(body))) => caller = Some(body),
                ("tag", value) => {
                    let known = value.as_str().filter(|tag| is_name(tag));
                    tag = known.ok_or_else(|| wrong("`tag` is the name of an element"))?;
                }
                (key, value) => attributes.push((key.replace('_', "-"), value)),
            }
        }
        let body = caller.ok_or_else(|| operation("it is `{% call live(…) %}…{% endcall %}`"))?;
        self.in_live = true;
        let content = self.call_macro(&body.clone(), &Collected::default());
        self.in_live = false;
        let content = content?;
        let content = content.as_str().unwrap_or_default();
        let meter = &self.env.meter;
        let mut out = format!("<{tag}");
        if self.host.live(&name, content, meter)? {
            attribute("data-live", &Value::from(name.as_str()), &mut out, self)?;
        }
        for (name, value) in &attributes {
            if !is_name(name) {
                return Err(wrong(format!("`{name}` is not the name of an attribute")));
            }
            attribute(name, value, &mut out, self)?;
        }
        self.env.meter.bytes(out.len() + content.len() + tag.len() + 4)?;
        Ok(Value::safe([&out, ">", content, "</", tag, ">"].concat()))
    }
}

fn attribute<'t>(
    name: &str,
    value: &Value<'t>,
    out: &mut String,
    machine: &Machine<'t, '_>,
) -> Result<()> {
    let meter = &machine.env.meter;
    let text = crate::show::to_text(value, meter)?;
    out.push(' ');
    out.push_str(name);
    out.push_str("=\"");
    html(&text, out, meter)?;
    out.push('"');
    Ok(())
}
