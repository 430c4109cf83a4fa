//! Variables: frames within one another, of loops, `with`, blocks and macros.

use std::rc::Rc;

use crate::compile::Name;
use crate::loops::Loop;
use crate::value::Value;

/// A frame.
pub(super) struct Frame<'t> {
    /// Where its variables begin.
    start: usize,
    /// Of a loop: its state, and whether the body sees it as `loop`.
    pub(super) current: Option<(Rc<Loop<'t>>, bool)>,
    /// Where macros that are defined here have names from.
    closure: Option<usize>,
    /// Of a macro: where it has names from.
    context: Option<usize>,
}

/// See the module's text.
pub(super) struct Frames<'t> {
    frames: Vec<Frame<'t>>,
    /// Variables of all frames.
    variables: Vec<(Name, Value<'t>)>,
    /// The first frame that can be seen: a macro does not see the frames of its caller.
    base: usize,
    closures: Vec<Vec<(Name, Value<'t>)>>,
    /// What the host has answered so far.
    pub(super) root: Vec<(Name, Option<Value<'t>>)>,
}

/// How many frames there were.
pub(super) struct Mark {
    frames: usize,
    base: usize,
}

impl<'t> Frames<'t> {
    pub(super) fn new() -> Self {
        let mut frames = Self {
            frames: Vec::with_capacity(8),
            variables: Vec::with_capacity(16),
            base: 0,
            closures: Vec::new(),
            root: Vec::new(),
        };
        frames.push();
        frames
    }

    /// Begins a frame.
    pub(super) fn push(&mut self) {
        self.push_frame(None, None);
    }

    /// Begins a frame of a loop.
    pub(super) fn push_loop(&mut self, current: Rc<Loop<'t>>, visible: bool) {
        self.push_frame(Some((current, visible)), None);
    }

    fn push_frame(&mut self, current: Option<(Rc<Loop<'t>>, bool)>, context: Option<usize>) {
        let start = self.variables.len();
        self.frames.push(Frame { start, current, closure: None, context });
    }

    /// Begins a frame of a macro, which sees only its closure.
    pub(super) fn enter_macro(&mut self, context: Option<usize>) -> Mark {
        let mark = self.mark();
        self.base = self.frames.len();
        self.push_frame(None, context);
        mark
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { frames: self.frames.len(), base: self.base }
    }

    /// Ends all frames since a mark.
    pub(super) fn back_to(&mut self, mark: &Mark) {
        while self.frames.len() > mark.frames {
            self.pop();
        }
        self.base = mark.base;
    }

    /// Ends a frame.
    pub(super) fn pop(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.variables.truncate(frame.start);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn top(&self) -> Option<&Frame<'t>> {
        self.frames.last()
    }

    /// The next item of the loop on top, whose variables are gone with the item before.
    #[inline]
    pub(super) fn next_item(&mut self) -> Option<Value<'t>> {
        let frame = self.frames.last()?;
        let item = frame.current.as_ref()?.0.next()?;
        self.variables.truncate(frame.start);
        Some(item)
    }

    /// The innermost loop; only of those that are `visible`, if so.
    pub(super) fn innermost(&self, visible: bool) -> Option<&Rc<Loop<'t>>> {
        let frames = self.frames[self.base..].iter().rev();
        let mut loops = frames.filter_map(|frame| frame.current.as_ref());
        loops.find(|(_, seen)| *seen || !visible).map(|(current, _)| current)
    }

    /// Assigns a variable of the frame on top.
    #[inline]
    pub(super) fn store(&mut self, name: Name, value: Value<'t>) {
        let Some(frame) = self.frames.last() else { return };
        if let Some(closure) = frame.closure {
            put(&mut self.closures[closure], name, value.clone());
        }
        match self.variables[frame.start..].iter_mut().find(|(n, _)| *n == name) {
            Some((_, old)) => *old = value,
            None => self.variables.push((name, value)),
        }
    }

    /// A variable of the frames that can be seen.
    #[inline]
    pub(super) fn load(&self, name: Name) -> Option<&Value<'t>> {
        let bottom = &self.frames[self.base];
        let variables = self.variables[bottom.start..].iter().rev();
        let found = variables.into_iter().find(|(n, _)| *n == name);
        if let Some((_, value)) = found {
            return Some(value);
        }
        let closure = &self.closures[bottom.context?];
        closure.iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    /// The variables of the frame on top.
    pub(super) fn locals(&self) -> &[(Name, Value<'t>)] {
        let start = self.frames.last().map_or(0, |frame| frame.start);
        &self.variables[start..]
    }

    /// The closure of the frame on top, if it has one.
    pub(super) fn closure(&self) -> Option<usize> {
        self.frames.last().and_then(|frame| frame.closure)
    }

    /// Gives the frame on top another closure, or none.
    pub(super) fn set_closure(&mut self, closure: Option<usize>) {
        if let Some(frame) = self.frames.last_mut() {
            frame.closure = closure;
        }
    }

    /// Whether a closure of the frame on top lacks a name.
    pub(super) fn lacks(&mut self, name: Name) -> Option<usize> {
        let closure = match self.closure() {
            Some(closure) => closure,
            None => {
                self.closures.push(Vec::new());
                self.set_closure(Some(self.closures.len() - 1));
                self.closures.len() - 1
            }
        };
        let known = self.closures[closure].iter().any(|(n, _)| *n == name);
        (!known).then_some(closure)
    }

    /// Puts a name into a closure.
    pub(super) fn enclose(&mut self, closure: usize, name: Name, value: Value<'t>) {
        put(&mut self.closures[closure], name, value);
    }
}

fn put<'t>(variables: &mut Vec<(Name, Value<'t>)>, name: Name, value: Value<'t>) {
    match variables.iter_mut().find(|(n, _)| *n == name) {
        Some((_, old)) => *old = value,
        None => variables.push((name, value)),
    }
}
