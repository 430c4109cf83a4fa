//! What can be an argument of a command.
//!
//! An argument is written straight into the command's bytes in RESP: nothing is collected first.

use bytes::Bytes;

/// One argument, or several: those of a slice, a tuple, a map; none for `None`.
pub trait Arg {
    /// Writes it.
    fn write(&self, out: &mut Args<'_>);

    /// Writes a slice: one argument of bytes for bytes, and one per element for all others.
    #[doc(hidden)]
    fn write_slice(items: &[Self], out: &mut Args<'_>)
    where
        Self: Sized,
    {
        for item in items {
            item.write(out);
        }
    }
}

/// Where arguments are written.
#[derive(Debug)]
pub struct Args<'b> {
    pub(crate) bytes: &'b mut Vec<u8>,
    pub(crate) count: &'b mut u32,
}

impl Args<'_> {
    /// Writes one argument.
    #[inline]
    pub fn push(&mut self, arg: &[u8]) {
        *self.count += 1;
        write_bulk(self.bytes, arg);
    }
}

/// A bulk string: its length, and it.
#[inline]
pub(crate) fn write_bulk(out: &mut Vec<u8>, arg: &[u8]) {
    out.reserve(arg.len() + 24);
    out.push(b'$');
    write_number(out, arg.len());
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(arg);
    out.extend_from_slice(b"\r\n");
}

#[inline]
pub(crate) fn write_number(out: &mut Vec<u8>, n: usize) {
    if let (Ok(n), true) = (u8::try_from(n), n < 10) {
        out.push(b'0' + n);
    } else {
        out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
    }
}

impl<T: Arg + ?Sized> Arg for &T {
    #[inline]
    fn write(&self, out: &mut Args<'_>) {
        (**self).write(out);
    }
}

macro_rules! text {
    ($($text:ty)*) => {$(
        impl Arg for $text {
            #[inline]
            fn write(&self, out: &mut Args<'_>) {
                out.push(AsRef::<[u8]>::as_ref(self));
            }
        }
    )*};
}

text!(str String Bytes);

impl Arg for std::borrow::Cow<'_, str> {
    fn write(&self, out: &mut Args<'_>) {
        out.push(self.as_bytes());
    }
}

impl Arg for Box<str> {
    fn write(&self, out: &mut Args<'_>) {
        out.push(self.as_bytes());
    }
}

impl Arg for std::sync::Arc<str> {
    fn write(&self, out: &mut Args<'_>) {
        out.push(self.as_bytes());
    }
}

macro_rules! integers {
    ($($int:ty)*) => {$(
        impl Arg for $int {
            #[inline]
            fn write(&self, out: &mut Args<'_>) {
                out.push(itoa::Buffer::new().format(*self).as_bytes());
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 i128 isize u16 u32 u64 u128 usize);

impl Arg for u8 {
    fn write(&self, out: &mut Args<'_>) {
        out.push(itoa::Buffer::new().format(*self).as_bytes());
    }

    #[inline]
    fn write_slice(items: &[Self], out: &mut Args<'_>) {
        out.push(items);
    }
}

impl Arg for f64 {
    fn write(&self, out: &mut Args<'_>) {
        out.push(self.to_string().as_bytes());
    }
}

impl Arg for f32 {
    fn write(&self, out: &mut Args<'_>) {
        out.push(self.to_string().as_bytes());
    }
}

impl Arg for char {
    fn write(&self, out: &mut Args<'_>) {
        out.push(self.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// No argument.
impl Arg for () {
    fn write(&self, _out: &mut Args<'_>) {}
}

impl<T: Arg> Arg for Option<T> {
    fn write(&self, out: &mut Args<'_>) {
        if let Some(arg) = self {
            arg.write(out);
        }
    }
}

impl<T: Arg> Arg for [T] {
    #[inline]
    fn write(&self, out: &mut Args<'_>) {
        T::write_slice(self, out);
    }
}

impl<T: Arg, const N: usize> Arg for [T; N] {
    #[inline]
    fn write(&self, out: &mut Args<'_>) {
        T::write_slice(self, out);
    }
}

impl<T: Arg> Arg for Vec<T> {
    #[inline]
    fn write(&self, out: &mut Args<'_>) {
        T::write_slice(self, out);
    }
}

impl<K: Arg, V: Arg, S> Arg for std::collections::HashMap<K, V, S> {
    fn write(&self, out: &mut Args<'_>) {
        for (key, value) in self {
            key.write(out);
            value.write(out);
        }
    }
}

impl<K: Arg, V: Arg> Arg for std::collections::BTreeMap<K, V> {
    fn write(&self, out: &mut Args<'_>) {
        for (key, value) in self {
            key.write(out);
            value.write(out);
        }
    }
}

macro_rules! tuples {
    ($($($name:ident)*;)*) => {$(
        /// One after the other.
        impl<$($name: Arg),*> Arg for ($($name,)*) {
            #[expect(non_snake_case, reason = "a value is called as its type")]
            fn write(&self, out: &mut Args<'_>) {
                let ($($name,)*) = self;
                $($name.write(out);)*
            }
        }
    )*};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
}

#[cfg(test)]
mod tests {
    use super::{Arg, Args};

    fn written(arg: &dyn Arg) -> (String, u32) {
        let (mut bytes, mut count) = (Vec::new(), 0);
        arg.write(&mut Args { bytes: &mut bytes, count: &mut count });
        (String::from_utf8(bytes).expect("text").replace("\r\n", " "), count)
    }

    #[test]
    fn arguments_of_every_type() {
        assert_eq!(written(&"a"), ("$1 a ".into(), 1));
        assert_eq!(written(&"0123456789"), ("$10 0123456789 ".into(), 1));
        assert_eq!(written(&b"ab"), ("$2 ab ".into(), 1));
        assert_eq!(written(&vec![1_u8, 2]), ("$2 \u{1}\u{2} ".into(), 1));
        assert_eq!(written(&["a", "b"]), ("$1 a $1 b ".into(), 2));
        assert_eq!(written(&(1, -2, 0.5)), ("$1 1 $2 -2 $3 0.5 ".into(), 3));
        assert_eq!(written(&[("a", 1), ("b", 2)]), ("$1 a $1 1 $1 b $1 2 ".into(), 4));
        assert_eq!(written(&None::<i64>), (String::new(), 0));
        assert_eq!(written(&Some(f64::INFINITY)), ("$3 inf ".into(), 1));
        assert_eq!(written(&7_u8), ("$1 7 ".into(), 1));
    }
}
