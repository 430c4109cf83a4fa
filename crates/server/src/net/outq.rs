//! Whether the other end's machine has got all that was sent on a connection.

#![expect(unsafe_code, reason = "ioctl")]

/// Whether the system's queue of a TCP socket has no byte that the other end has not acknowledged.
pub(super) fn is_delivered(fd: i32) -> bool {
    let mut queued: libc::c_int = -1;
    // SAFETY: SIOCOUTQ, which has the number of TIOCOUTQ, writes one int.
    let r = unsafe { libc::ioctl(fd, libc::TIOCOUTQ, &raw mut queued) };
    r == 0 && queued == 0
}
