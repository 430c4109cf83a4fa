//! Parts of a page that a host may keep: loops, and turns of loops, that write the same text as long as some
//! variables and what they call stay the same.
//!
//! A turn is one if all that it does is known to have no effect but its text: it defines no macro, changes no
//! namespace, leaves the loop nowhere else, and needs no other template. What it calls is the host's business.
//! A loop is one if it calls something, stands in no other loop, assigns nothing that is seen behind it, and all that
//! it does is known in the same way.

use super::{Compiler, Name, Op, PartSpec};
use crate::part::PartKind;

/// Operations from which on a part without calls is worth keeping.
const OPS_MIN: usize = 24;
/// What a part may ask of the variable `loop`: where it is. The items before and behind it are not.
const OF_LOOP: [&str; 9] =
    ["index0", "index", "length", "revindex", "revindex0", "first", "last", "depth", "depth0"];
/// Names that are more than a variable or a function.
const SPECIAL: [&str; 6] = ["super", "caller", "live", "namespace", "debug", "self"];

impl Compiler<'_> {
    pub(super) fn begin_part(&mut self) -> u32 {
        self.add(Op::Part(0))
    }

    /// Ends a part, or makes nothing of it if it is none.
    pub(super) fn end_part(&mut self, kind: PartKind, part: u32, recursive: bool) {
        let end = self.add(Op::PartEnd(0));
        let found = if recursive { None } else { self.part_of(kind, part + 1, end) };
        let (begin_op, end_op) = match found {
            Some((names, uses_loop)) => {
                let number = self.names.parts;
                self.names.parts += 1;
                self.code.parts.push(PartSpec { kind, number, names, uses_loop, end: end + 1 });
                let at = self.code.parts.len() as u32 - 1;
                (Op::Part(at), Op::PartEnd(at))
            }
            None => (Op::Jump(part + 1), Op::Jump(end + 1)),
        };
        self.code.ops[part as usize] = begin_op;
        self.code.ops[end as usize] = end_op;
    }

    /// The names that operations read, and whether the `loop` around a turn is one of them, if they are a part.
    fn part_of(&self, kind: PartKind, from: u32, to: u32) -> Option<(Box<[Name]>, bool)> {
        let ops = &self.code.ops[from as usize..to as usize];
        let (mut names, mut uses_loop, mut calls) = (Vec::new(), false, false);
        let mut inner = Inner::default();
        for (i, op) in ops.iter().enumerate() {
            inner.follow(op);
            if kind == PartKind::Loop && inner.is_empty() && matches!(op, Op::Store(_)) {
                return None;
            }
            let (name, asked) = match *op {
                Op::Load(name) => (name, ops.get(i + 1)),
                Op::EmitAttr(name, _) => (name, Some(op)),
                Op::Call(name, _) => {
                    calls = true;
                    (name, None)
                }
                Op::Jump(to_op)
                | Op::JumpIfFalse(to_op)
                | Op::JumpIfFalseKeep(to_op)
                | Op::JumpIfTrueKeep(to_op)
                | Op::Iterate(to_op)
                    if (from..=to).contains(&to_op) =>
                {
                    continue;
                }
                _ if is_plain(op) => continue,
                _ => return None,
            };
            let text = self.names.text(name);
            if text == "loop" && !(kind == PartKind::Loop && inner.has_loop()) {
                let (Some(Op::Attr(of)) | Some(Op::EmitAttr(_, of))) = asked else { return None };
                if !OF_LOOP.contains(&self.names.text(*of)) {
                    return None;
                }
                uses_loop = true;
            }
            if SPECIAL.contains(&text) {
                return None;
            } else if !names.contains(&name) {
                names.push(name);
            }
        }
        // What a loop asks of one around it, in an included template, is not looked at.
        if uses_loop && kind == PartKind::Loop {
            return None;
        }
        let is_worth_it = calls || kind == PartKind::Turn && ops.len() >= OPS_MIN;
        is_worth_it.then(|| (names.into(), uses_loop))
    }
}

/// The frames that a part has begun: of each, whether the body of a loop stands in it.
#[derive(Default)]
struct Inner(Vec<bool>);

impl Inner {
    /// Operations are looked at as they are written. Those that leave a loop take its frames off a second time, so that
    /// there are fewer here than there are when the part runs, and never more.
    fn follow(&mut self, op: &Op) {
        match op {
            Op::PushLoop { with_loop, .. } => self.0.push(*with_loop),
            Op::PushFrame => self.0.push(false),
            Op::PopLoop | Op::PopFrame => {
                self.0.pop();
            }
            _ => {}
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn has_loop(&self) -> bool {
        self.0.contains(&true)
    }
}

/// Whether an operation has no effect but on the stack, on variables of its frame and on the text.
fn is_plain(op: &Op) -> bool {
    matches!(
        op,
        Op::Raw(_)
            | Op::Emit
            | Op::Str(_)
            | Op::Int(_)
            | Op::Big(_)
            | Op::Float(_)
            | Op::Bool(_)
            | Op::None
            | Op::Undefined
            | Op::Store(_)
            | Op::Attr(_)
            | Op::Item
            | Op::Slice
            | Op::List(_)
            | Op::Tuple(_)
            | Op::Map(_)
            | Op::Counted
            | Op::Count
            | Op::Unpack(_)
            | Op::Math(_)
            | Op::Concat
            | Op::Not
            | Op::Neg
            | Op::Compare(_)
            | Op::CompareKeep(_)
            | Op::PushLoop { recursive: false, .. }
            | Op::WasEmpty
            | Op::PopLoop
            | Op::PushFrame
            | Op::PopFrame
            | Op::Filter(..)
            | Op::Test(..)
            | Op::IsUndefined
            | Op::Dup
            | Op::Pop
            | Op::Swap
            | Op::Part(_)
            | Op::PartEnd(_)
    )
}
