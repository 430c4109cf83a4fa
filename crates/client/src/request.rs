//! A request: a command that knows where it will be sent, and is sent when it is awaited.

use crate::arg::{Arg, Args};
use crate::command::{Command, buffer, keep};
use crate::connection::Reply;
use crate::convert::FromValue;
use crate::error::{Error, Result};
use crate::spec::Spec;
use crate::value::Value;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What has the commands as methods: a [`Client`](crate::Client), a
/// [`Dedicated`](crate::Dedicated) connection, and [`cmd`](crate::cmd) for
/// pipelines.
pub trait Target {
    /// Where its requests go.
    #[doc(hidden)]
    fn target(&self) -> To<'_>;
}

/// What sends commands.
#[doc(hidden)]
pub trait Sender: std::fmt::Debug + Sync {
    /// The future of the reply.
    fn send_command(&self, command: Command) -> Response<'_>;
}

/// Where a request goes; nowhere by itself if it is for a pipeline.
#[doc(hidden)]
pub type To<'c> = Option<&'c dyn Sender>;

/// A command that is sent when it is awaited; `M` is the command whose options it takes.
///
/// ```no_run
/// # use apus_client::prelude::*;
/// # async fn example(client: Client) -> apus_client::Result<()> {
/// client.set("user:1", "Ada").ex(60).nx().await?;
/// let name: Option<String> = client.get("user:1").to().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct Request<'c, M = ()> {
    to: To<'c>,
    command: Command,
    /// Arguments that stand behind all options.
    last: Vec<u8>,
    last_count: u32,
    marker: PhantomData<fn() -> M>,
}

impl<'c, M> Request<'c, M> {
    #[inline]
    pub(crate) fn of(to: To<'c>, spec: &'static Spec) -> Self {
        Self {
            to,
            command: Command::of(spec),
            last: Vec::new(),
            last_count: 0,
            marker: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn with(mut self, arg: impl Arg) -> Self {
        self.command.push(arg);
        self
    }

    pub(crate) fn with_counted(mut self, arg: impl Arg) -> Self {
        self.command.push_counted(arg);
        self
    }

    /// Behind all options.
    pub(crate) fn with_last(mut self, arg: impl Arg) -> Self {
        if self.last.capacity() == 0 {
            self.last = buffer();
        }
        arg.write(&mut Args { bytes: &mut self.last, count: &mut self.last_count });
        self
    }

    /// Behind all options, with their number in front.
    pub(crate) fn with_last_counted(self, arg: impl Arg) -> Self {
        let (mut bytes, mut count) = (Vec::new(), 0);
        arg.write(&mut Args { bytes: &mut bytes, count: &mut count });
        let mut this = self.with_last(count);
        this.last.extend_from_slice(&bytes);
        this.last_count += count;
        this
    }

    /// Adds arguments that have no method of their own.
    #[inline]
    pub fn arg(self, arg: impl Arg) -> Self {
        self.with(arg)
    }

    /// The command alone, for a pipeline or a transaction.
    #[must_use]
    pub fn into_command(mut self) -> Command {
        if self.last_count > 0 {
            self.command.append(&self.last, self.last_count);
            keep(std::mem::take(&mut self.last));
        }
        self.command
    }

    /// The reply as a type of the program's.
    pub fn to<T: FromValue>(self) -> Typed<'c, T> {
        Typed { response: self.into_future(), marker: PhantomData }
    }
}

impl<M> From<Request<'_, M>> for Command {
    fn from(request: Request<'_, M>) -> Self {
        request.into_command()
    }
}

impl<'c, M> IntoFuture for Request<'c, M> {
    type Output = Result<Value>;
    type IntoFuture = Response<'c>;

    #[inline]
    fn into_future(self) -> Response<'c> {
        match self.to {
            Some(sender) => sender.send_command(self.into_command()),
            None => {
                Response::failed(Error::usage("this request goes nowhere: add it to a pipeline"))
            }
        }
    }
}

/// The future of a reply; a server's error is an error.
#[derive(Debug)]
#[must_use = "nothing is sent until it is polled"]
pub struct Response<'c> {
    inner: Inner<'c>,
    #[cfg(feature = "tracing")]
    span: tracing::Span,
}

type Boxed<'c> = Pin<Box<dyn Future<Output = Result<Value>> + Send + 'c>>;

enum Inner<'c> {
    Reply(Reply),
    Boxed(Boxed<'c>),
    Failed(Option<Error>),
}

impl std::fmt::Debug for Inner<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Reply(reply) => reply.fmt(f),
            Self::Boxed(_) => f.write_str("a request with several steps"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl<'c> Response<'c> {
    #[inline]
    pub(crate) fn reply(reply: Reply) -> Self {
        Self::new(Inner::Reply(reply))
    }

    pub(crate) fn boxed(future: impl Future<Output = Result<Value>> + Send + 'c) -> Self {
        Self::new(Inner::Boxed(Box::pin(future)))
    }

    pub(crate) fn failed(error: Error) -> Self {
        Self::new(Inner::Failed(Some(error)))
    }

    #[inline]
    fn new(inner: Inner<'c>) -> Self {
        Self {
            inner,
            #[cfg(feature = "tracing")]
            span: tracing::Span::none(),
        }
    }

    /// The span in which it is awaited.
    #[cfg(feature = "tracing")]
    pub(crate) fn spanned(mut self, span: tracing::Span) -> Self {
        self.span = span;
        self
    }
}

impl Future for Response<'_> {
    type Output = Result<Value>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        #[cfg(feature = "tracing")]
        let _entered = this.span.enter();
        let polled = match &mut this.inner {
            Inner::Reply(reply) => Pin::new(reply).poll(cx),
            Inner::Boxed(future) => future.as_mut().poll(cx),
            Inner::Failed(error) => {
                let error =
                    error.take().unwrap_or_else(|| Error::usage("polled after it has failed"));
                Poll::Ready(Err(error))
            }
        };
        let polled = polled.map(|result| match result {
            Ok(Value::Error(error)) => Err(error.into()),
            result => result,
        });
        #[cfg(feature = "tracing")]
        if let Poll::Ready(result) = &polled {
            crate::trace::end(&this.span, result);
        }
        polled
    }
}

/// The future of a reply of a certain type.
#[derive(Debug)]
#[must_use = "nothing is sent until it is polled"]
pub struct Typed<'c, T> {
    response: Response<'c>,
    marker: PhantomData<fn() -> T>,
}

impl<T: FromValue> Future for Typed<'_, T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.response).poll(cx).map(|result| T::from_value(result?))
    }
}
