//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group connection.
pub trait ConnectionCommands: Target {
    /// Authenticates the connection.
    ///
    /// `AUTH [username] password`
    fn auth(&self, password: impl Arg) -> Request<'_, options::Auth> {
        Request::of(self.target(), &table::AUTH).with_last(password)
    }

    /// Decides whether the keys of the next command are tracked.
    ///
    /// `CLIENT CACHING <YES | NO>`
    fn client_caching(&self, yes_no: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLIENT_CACHING).with(yes_no)
    }

    /// The name of this connection.
    ///
    /// `CLIENT GETNAME`
    fn client_getname(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLIENT_GETNAME)
    }

    /// The client that receives this connection's invalidations.
    ///
    /// `CLIENT GETREDIR`
    fn client_getredir(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLIENT_GETREDIR)
    }

    /// Describes the subcommands.
    ///
    /// `CLIENT HELP`
    fn client_help(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLIENT_HELP)
    }

    /// The number of this connection, which no other will ever have.
    ///
    /// `CLIENT ID`
    fn client_id(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLIENT_ID)
    }

    /// This connection's line of CLIENT LIST.
    ///
    /// `CLIENT INFO`
    fn client_info(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLIENT_INFO)
    }

    /// Closes connections.
    ///
    /// `CLIENT KILL <ip:port | <ID client-id | TYPE <NORMAL | MASTER | SLAVE | REPLICA | PUBSUB> | USER username | ADDR ip:port | LADDR ip:port | SKIPME <YES | NO> | MAXAGE maxage> [<ID client-id | TYPE <NORMAL | MASTER | SLAVE | REPLICA | PUBSUB> | USER username | ADDR ip:port | LADDR ip:port | SKIPME <YES | NO> | MAXAGE maxage> ...]>`
    fn client_kill(&self, ip_port_or_client_id_or_type_or_username_or_ip_port_or_ip_port_or_skipme_or_maxage: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLIENT_KILL).with(ip_port_or_client_id_or_type_or_username_or_ip_port_or_ip_port_or_skipme_or_maxage)
    }

    /// A line for each connection.
    ///
    /// `CLIENT LIST [TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]`
    fn client_list(&self) -> Request<'_, options::ClientList> {
        Request::of(self.target(), &table::CLIENT_LIST)
    }

    /// Spares this connection when clients use too much memory.
    ///
    /// `CLIENT NO-EVICT <ON | OFF>`
    fn client_no_evict(&self, status: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLIENT_NO_EVICT).with(status)
    }

    /// Leaves LRU and LFU of the keys that this connection's commands use alone.
    ///
    /// `CLIENT NO-TOUCH <ON | OFF>`
    fn client_no_touch(&self, status: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLIENT_NO_TOUCH).with(status)
    }

    /// Holds back commands of all clients for a while.
    ///
    /// `CLIENT PAUSE timeout [WRITE | ALL]`
    fn client_pause(&self, timeout: impl Arg) -> Request<'_, options::ClientPause> {
        Request::of(self.target(), &table::CLIENT_PAUSE).with(timeout)
    }

    /// Decides whether commands are answered.
    ///
    /// `CLIENT REPLY <ON | OFF | SKIP>`
    fn client_reply(&self, status: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLIENT_REPLY).with(status)
    }

    /// Tells which client library this connection belongs to.
    ///
    /// `CLIENT SETINFO <LIB-NAME libname | LIB-VER libver>`
    fn client_setinfo(&self, libname_or_libver: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLIENT_SETINFO).with(libname_or_libver)
    }

    /// Names this connection.
    ///
    /// `CLIENT SETNAME connection-name`
    fn client_setname(&self, connection_name: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLIENT_SETNAME).with(connection_name)
    }

    /// Has the server tell which keys that this client read have changed.
    ///
    /// `CLIENT TRACKING <ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]`
    fn client_tracking(&self, status: impl Arg) -> Request<'_, options::ClientTracking> {
        Request::of(self.target(), &table::CLIENT_TRACKING).with(status)
    }

    /// The state of tracking for this connection.
    ///
    /// `CLIENT TRACKINGINFO`
    fn client_trackinginfo(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLIENT_TRACKINGINFO)
    }

    /// Ends the wait of a client that a command blocks.
    ///
    /// `CLIENT UNBLOCK client-id [TIMEOUT | ERROR]`
    fn client_unblock(&self, client_id: impl Arg) -> Request<'_, options::ClientUnblock> {
        Request::of(self.target(), &table::CLIENT_UNBLOCK).with(client_id)
    }

    /// Ends CLIENT PAUSE.
    ///
    /// `CLIENT UNPAUSE`
    fn client_unpause(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLIENT_UNPAUSE)
    }

    /// Answers with its argument.
    ///
    /// `ECHO message`
    fn echo(&self, message: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::ECHO).with(message)
    }

    /// Says which server this is, and chooses the protocol.
    ///
    /// `HELLO [protover [AUTH username password] [SETNAME clientname]]`
    fn hello(&self) -> Request<'_, options::Hello> {
        Request::of(self.target(), &table::HELLO)
    }

    /// Answers PONG, or with its argument.
    ///
    /// `PING [message]`
    fn ping(&self) -> Request<'_, options::Ping> {
        Request::of(self.target(), &table::PING)
    }

    /// Closes the connection.
    ///
    /// `QUIT`
    ///
    /// Redis has had better since 7.2.0.
    fn quit(&self) -> Request<'_> {
        Request::of(self.target(), &table::QUIT)
    }

    /// Puts the connection back into the state in which it began.
    ///
    /// `RESET`
    fn reset(&self) -> Request<'_> {
        Request::of(self.target(), &table::RESET)
    }

    /// Selects the database for the commands that follow.
    ///
    /// `SELECT index`
    fn select(&self, index: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SELECT).with(index)
    }
}

impl<T: Target + ?Sized> ConnectionCommands for T {}

/// Options of AUTH.
impl Request<'_, options::Auth> {
    /// The argument `username`.
    pub fn username(self, username: impl Arg) -> Self {
        self.with(username)
    }
}

/// Options of CLIENT LIST.
impl Request<'_, options::ClientList> {
    /// `TYPE`.
    pub fn type_(self, type_: impl Arg) -> Self {
        self.with("TYPE").with(type_)
    }

    /// `ID`.
    pub fn id(self, client_ids: impl Arg) -> Self {
        self.with("ID").with(client_ids)
    }
}

/// Options of CLIENT PAUSE.
impl Request<'_, options::ClientPause> {
    /// `WRITE`.
    pub fn write(self) -> Self {
        self.with("WRITE")
    }

    /// `ALL`.
    pub fn all(self) -> Self {
        self.with("ALL")
    }
}

/// Options of CLIENT TRACKING.
impl Request<'_, options::ClientTracking> {
    /// `REDIRECT`.
    pub fn redirect(self, client_id: impl Arg) -> Self {
        self.with("REDIRECT").with(client_id)
    }

    /// `PREFIX`.
    pub fn prefix(self, prefixs: impl Arg) -> Self {
        self.with(prefixs)
    }

    /// `BCAST`.
    pub fn bcast(self) -> Self {
        self.with("BCAST")
    }

    /// `OPTIN`.
    pub fn optin(self) -> Self {
        self.with("OPTIN")
    }

    /// `OPTOUT`.
    pub fn optout(self) -> Self {
        self.with("OPTOUT")
    }

    /// `NOLOOP`.
    pub fn noloop(self) -> Self {
        self.with("NOLOOP")
    }
}

/// Options of CLIENT UNBLOCK.
impl Request<'_, options::ClientUnblock> {
    /// `TIMEOUT`.
    pub fn timeout(self) -> Self {
        self.with("TIMEOUT")
    }

    /// `ERROR`.
    pub fn error(self) -> Self {
        self.with("ERROR")
    }
}

/// Options of HELLO.
impl Request<'_, options::Hello> {
    /// The argument `protover-block`.
    pub fn protover_block(self, protover: impl Arg, auth: Option<impl Arg>, setname: Option<impl Arg>) -> Self {
        self.with(protover).with(auth.map(|value| ("AUTH", value))).with(setname.map(|value| ("SETNAME", value)))
    }
}

/// Options of PING.
impl Request<'_, options::Ping> {
    /// The argument `message`.
    pub fn message(self, message: impl Arg) -> Self {
        self.with(message)
    }
}

pub(super) mod options {
    //! The commands of this group that have options.

    /// Of AUTH.
    #[derive(Debug)]
    pub enum Auth {}
    /// Of CLIENT LIST.
    #[derive(Debug)]
    pub enum ClientList {}
    /// Of CLIENT PAUSE.
    #[derive(Debug)]
    pub enum ClientPause {}
    /// Of CLIENT TRACKING.
    #[derive(Debug)]
    pub enum ClientTracking {}
    /// Of CLIENT UNBLOCK.
    #[derive(Debug)]
    pub enum ClientUnblock {}
    /// Of HELLO.
    #[derive(Debug)]
    pub enum Hello {}
    /// Of PING.
    #[derive(Debug)]
    pub enum Ping {}
}
