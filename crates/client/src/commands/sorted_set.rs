//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group sorted-set.
pub trait SortedSetCommands: Target {
    /// Removes and returns members with the lowest or highest scores, from the first of several sorted sets that has any, and waits for one if none has.
    ///
    /// `BZMPOP timeout numkeys key [key ...] <MIN | MAX> [COUNT count]`
    fn bzmpop(&self, timeout: impl Arg, keys: impl Arg, min_or_max: impl Arg) -> Request<'_, options::Bzmpop> {
        Request::of(self.target(), &table::BZMPOP).with(timeout).with_counted(keys).with(min_or_max)
    }

    /// Removes and returns the member with the highest score of the first sorted set that has one, and waits for one if none has.
    ///
    /// `BZPOPMAX key [key ...] timeout`
    fn bzpopmax(&self, keys: impl Arg, timeout: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::BZPOPMAX).with(keys).with(timeout)
    }

    /// Removes and returns the member with the lowest score of the first sorted set that has one, and waits for one if none has.
    ///
    /// `BZPOPMIN key [key ...] timeout`
    fn bzpopmin(&self, keys: impl Arg, timeout: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::BZPOPMIN).with(keys).with(timeout)
    }

    /// Adds members to a sorted set, or changes their scores.
    ///
    /// `ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]`
    fn zadd(&self, key: impl Arg, score_members: impl Arg) -> Request<'_, options::Zadd> {
        Request::of(self.target(), &table::ZADD).with(key).with_last(score_members)
    }

    /// Counts the members of a sorted set.
    ///
    /// `ZCARD key`
    fn zcard(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::ZCARD).with(key)
    }

    /// Counts the members with a score within a range.
    ///
    /// `ZCOUNT key min max`
    fn zcount(&self, key: impl Arg, min: impl Arg, max: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::ZCOUNT).with(key).with(min).with(max)
    }

    /// Returns what is in the first sorted set and in none of the others.
    ///
    /// `ZDIFF numkeys key [key ...] [WITHSCORES]`
    fn zdiff(&self, keys: impl Arg) -> Request<'_, options::Zdiff> {
        Request::of(self.target(), &table::ZDIFF).with_counted(keys)
    }

    /// Stores what is in the first sorted set and in none of the others.
    ///
    /// `ZDIFFSTORE destination numkeys key [key ...]`
    fn zdiffstore(&self, destination: impl Arg, keys: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::ZDIFFSTORE).with(destination).with_counted(keys)
    }

    /// Adds to the score of a member.
    ///
    /// `ZINCRBY key increment member`
    fn zincrby(&self, key: impl Arg, increment: impl Arg, member: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::ZINCRBY).with(key).with(increment).with(member)
    }

    /// Returns the intersection of sorted sets.
    ///
    /// `ZINTER numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX | COUNT>] [WITHSCORES]`
    fn zinter(&self, keys: impl Arg) -> Request<'_, options::Zinter> {
        Request::of(self.target(), &table::ZINTER).with_counted(keys)
    }

    /// Counts the members of an intersection of sorted sets.
    ///
    /// `ZINTERCARD numkeys key [key ...] [LIMIT limit]`
    fn zintercard(&self, keys: impl Arg) -> Request<'_, options::Zintercard> {
        Request::of(self.target(), &table::ZINTERCARD).with_counted(keys)
    }

    /// Stores the intersection of sorted sets.
    ///
    /// `ZINTERSTORE destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX | COUNT>]`
    fn zinterstore(&self, destination: impl Arg, keys: impl Arg) -> Request<'_, options::Zinterstore> {
        Request::of(self.target(), &table::ZINTERSTORE).with(destination).with_counted(keys)
    }

    /// Counts the members within a range of bytes, in a sorted set of one score.
    ///
    /// `ZLEXCOUNT key min max`
    fn zlexcount(&self, key: impl Arg, min: impl Arg, max: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::ZLEXCOUNT).with(key).with(min).with(max)
    }

    /// Removes and returns members with the lowest or highest scores, from the first of several sorted sets that has any.
    ///
    /// `ZMPOP numkeys key [key ...] <MIN | MAX> [COUNT count]`
    fn zmpop(&self, keys: impl Arg, min_or_max: impl Arg) -> Request<'_, options::Zmpop> {
        Request::of(self.target(), &table::ZMPOP).with_counted(keys).with(min_or_max)
    }

    /// Returns the scores of several members.
    ///
    /// `ZMSCORE key member [member ...]`
    fn zmscore(&self, key: impl Arg, members: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::ZMSCORE).with(key).with(members)
    }

    /// Removes and returns the members with the highest scores.
    ///
    /// `ZPOPMAX key [count]`
    fn zpopmax(&self, key: impl Arg) -> Request<'_, options::Zpopmax> {
        Request::of(self.target(), &table::ZPOPMAX).with(key)
    }

    /// Removes and returns the members with the lowest scores.
    ///
    /// `ZPOPMIN key [count]`
    fn zpopmin(&self, key: impl Arg) -> Request<'_, options::Zpopmin> {
        Request::of(self.target(), &table::ZPOPMIN).with(key)
    }

    /// Returns random members of a sorted set.
    ///
    /// `ZRANDMEMBER key [count [WITHSCORES]]`
    fn zrandmember(&self, key: impl Arg) -> Request<'_, options::Zrandmember> {
        Request::of(self.target(), &table::ZRANDMEMBER).with(key)
    }

    /// Returns members of a sorted set by rank, score or member.
    ///
    /// `ZRANGE key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]`
    fn zrange(&self, key: impl Arg, start: impl Arg, stop: impl Arg) -> Request<'_, options::Zrange> {
        Request::of(self.target(), &table::ZRANGE).with(key).with(start).with(stop)
    }

    /// Returns members of a sorted set of one score by their bytes.
    ///
    /// `ZRANGEBYLEX key min max [LIMIT offset count]`
    ///
    /// Redis has had better since 6.2.0.
    fn zrangebylex(&self, key: impl Arg, min: impl Arg, max: impl Arg) -> Request<'_, options::Zrangebylex> {
        Request::of(self.target(), &table::ZRANGEBYLEX).with(key).with(min).with(max)
    }

    /// Returns members of a sorted set by score.
    ///
    /// `ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset count]`
    ///
    /// Redis has had better since 6.2.0.
    fn zrangebyscore(&self, key: impl Arg, min: impl Arg, max: impl Arg) -> Request<'_, options::Zrangebyscore> {
        Request::of(self.target(), &table::ZRANGEBYSCORE).with(key).with(min).with(max)
    }

    /// Stores members of a sorted set, chosen by rank, score or member.
    ///
    /// `ZRANGESTORE dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]`
    fn zrangestore(&self, dst: impl Arg, src: impl Arg, min: impl Arg, max: impl Arg) -> Request<'_, options::Zrangestore> {
        Request::of(self.target(), &table::ZRANGESTORE).with(dst).with(src).with(min).with(max)
    }

    /// Returns the place of a member, counted from the lowest score.
    ///
    /// `ZRANK key member [WITHSCORE]`
    fn zrank(&self, key: impl Arg, member: impl Arg) -> Request<'_, options::Zrank> {
        Request::of(self.target(), &table::ZRANK).with(key).with(member)
    }

    /// Removes members from a sorted set.
    ///
    /// `ZREM key member [member ...]`
    fn zrem(&self, key: impl Arg, members: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::ZREM).with(key).with(members)
    }

    /// Removes the members within a range of bytes, from a sorted set of one score.
    ///
    /// `ZREMRANGEBYLEX key min max`
    fn zremrangebylex(&self, key: impl Arg, min: impl Arg, max: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::ZREMRANGEBYLEX).with(key).with(min).with(max)
    }

    /// Removes the members within a range of ranks.
    ///
    /// `ZREMRANGEBYRANK key start stop`
    fn zremrangebyrank(&self, key: impl Arg, start: impl Arg, stop: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::ZREMRANGEBYRANK).with(key).with(start).with(stop)
    }

    /// Removes the members with a score within a range.
    ///
    /// `ZREMRANGEBYSCORE key min max`
    fn zremrangebyscore(&self, key: impl Arg, min: impl Arg, max: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::ZREMRANGEBYSCORE).with(key).with(min).with(max)
    }

    /// Returns members of a sorted set by rank, from the highest score down.
    ///
    /// `ZREVRANGE key start stop [WITHSCORES]`
    ///
    /// Redis has had better since 6.2.0.
    fn zrevrange(&self, key: impl Arg, start: impl Arg, stop: impl Arg) -> Request<'_, options::Zrevrange> {
        Request::of(self.target(), &table::ZREVRANGE).with(key).with(start).with(stop)
    }

    /// Returns members of a sorted set of one score by their bytes, from the last to the first.
    ///
    /// `ZREVRANGEBYLEX key max min [LIMIT offset count]`
    ///
    /// Redis has had better since 6.2.0.
    fn zrevrangebylex(&self, key: impl Arg, max: impl Arg, min: impl Arg) -> Request<'_, options::Zrevrangebylex> {
        Request::of(self.target(), &table::ZREVRANGEBYLEX).with(key).with(max).with(min)
    }

    /// Returns members of a sorted set by score, from the highest down.
    ///
    /// `ZREVRANGEBYSCORE key max min [WITHSCORES] [LIMIT offset count]`
    ///
    /// Redis has had better since 6.2.0.
    fn zrevrangebyscore(&self, key: impl Arg, max: impl Arg, min: impl Arg) -> Request<'_, options::Zrevrangebyscore> {
        Request::of(self.target(), &table::ZREVRANGEBYSCORE).with(key).with(max).with(min)
    }

    /// Returns the place of a member, counted from the highest score.
    ///
    /// `ZREVRANK key member [WITHSCORE]`
    fn zrevrank(&self, key: impl Arg, member: impl Arg) -> Request<'_, options::Zrevrank> {
        Request::of(self.target(), &table::ZREVRANK).with(key).with(member)
    }

    /// Lists members and scores step by step.
    ///
    /// `ZSCAN key cursor [MATCH pattern] [COUNT count]`
    fn zscan(&self, key: impl Arg, cursor: impl Arg) -> Request<'_, options::Zscan> {
        Request::of(self.target(), &table::ZSCAN).with(key).with(cursor)
    }

    /// Returns the score of a member.
    ///
    /// `ZSCORE key member`
    fn zscore(&self, key: impl Arg, member: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::ZSCORE).with(key).with(member)
    }

    /// Returns the union of sorted sets.
    ///
    /// `ZUNION numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX | COUNT>] [WITHSCORES]`
    fn zunion(&self, keys: impl Arg) -> Request<'_, options::Zunion> {
        Request::of(self.target(), &table::ZUNION).with_counted(keys)
    }

    /// Stores the union of sorted sets.
    ///
    /// `ZUNIONSTORE destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX | COUNT>]`
    fn zunionstore(&self, destination: impl Arg, keys: impl Arg) -> Request<'_, options::Zunionstore> {
        Request::of(self.target(), &table::ZUNIONSTORE).with(destination).with_counted(keys)
    }
}

impl<T: Target + ?Sized> SortedSetCommands for T {}

/// Options of BZMPOP.
impl Request<'_, options::Bzmpop> {
    /// `COUNT`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with("COUNT").with(count)
    }
}

/// Options of ZADD.
impl Request<'_, options::Zadd> {
    /// `NX`.
    pub fn nx(self) -> Self {
        self.with("NX")
    }

    /// `XX`.
    pub fn xx(self) -> Self {
        self.with("XX")
    }

    /// `GT`.
    pub fn gt(self) -> Self {
        self.with("GT")
    }

    /// `LT`.
    pub fn lt(self) -> Self {
        self.with("LT")
    }

    /// `CH`.
    pub fn ch(self) -> Self {
        self.with("CH")
    }

    /// `INCR`.
    pub fn incr(self) -> Self {
        self.with("INCR")
    }
}

/// Options of ZDIFF.
impl Request<'_, options::Zdiff> {
    /// `WITHSCORES`.
    pub fn withscores(self) -> Self {
        self.with("WITHSCORES")
    }
}

/// Options of ZINTER.
impl Request<'_, options::Zinter> {
    /// `WEIGHTS`.
    pub fn weights(self, weights: impl Arg) -> Self {
        self.with("WEIGHTS").with(weights)
    }

    /// `AGGREGATE`.
    pub fn aggregate(self, aggregate: impl Arg) -> Self {
        self.with("AGGREGATE").with(aggregate)
    }

    /// `WITHSCORES`.
    pub fn withscores(self) -> Self {
        self.with("WITHSCORES")
    }
}

/// Options of ZINTERCARD.
impl Request<'_, options::Zintercard> {
    /// `LIMIT`.
    pub fn limit(self, limit: impl Arg) -> Self {
        self.with("LIMIT").with(limit)
    }
}

/// Options of ZINTERSTORE.
impl Request<'_, options::Zinterstore> {
    /// `WEIGHTS`.
    pub fn weights(self, weights: impl Arg) -> Self {
        self.with("WEIGHTS").with(weights)
    }

    /// `AGGREGATE`.
    pub fn aggregate(self, aggregate: impl Arg) -> Self {
        self.with("AGGREGATE").with(aggregate)
    }
}

/// Options of ZMPOP.
impl Request<'_, options::Zmpop> {
    /// `COUNT`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with("COUNT").with(count)
    }
}

/// Options of ZPOPMAX.
impl Request<'_, options::Zpopmax> {
    /// The argument `count`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with(count)
    }
}

/// Options of ZPOPMIN.
impl Request<'_, options::Zpopmin> {
    /// The argument `count`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with(count)
    }
}

/// Options of ZRANDMEMBER.
impl Request<'_, options::Zrandmember> {
    /// The argument `count-block`.
    pub fn count_block(self, count: impl Arg, withscores: bool) -> Self {
        self.with(count).with(withscores.then_some("WITHSCORES"))
    }
}

/// Options of ZRANGE.
impl Request<'_, options::Zrange> {
    /// `BYSCORE`.
    pub fn byscore(self) -> Self {
        self.with("BYSCORE")
    }

    /// `BYLEX`.
    pub fn bylex(self) -> Self {
        self.with("BYLEX")
    }

    /// `REV`.
    pub fn rev(self) -> Self {
        self.with("REV")
    }

    /// `LIMIT`.
    pub fn limit(self, offset: impl Arg, count: impl Arg) -> Self {
        self.with("LIMIT").with(offset).with(count)
    }

    /// `WITHSCORES`.
    pub fn withscores(self) -> Self {
        self.with("WITHSCORES")
    }
}

/// Options of ZRANGEBYLEX.
impl Request<'_, options::Zrangebylex> {
    /// `LIMIT`.
    pub fn limit(self, offset: impl Arg, count: impl Arg) -> Self {
        self.with("LIMIT").with(offset).with(count)
    }
}

/// Options of ZRANGEBYSCORE.
impl Request<'_, options::Zrangebyscore> {
    /// `WITHSCORES`.
    pub fn withscores(self) -> Self {
        self.with("WITHSCORES")
    }

    /// `LIMIT`.
    pub fn limit(self, offset: impl Arg, count: impl Arg) -> Self {
        self.with("LIMIT").with(offset).with(count)
    }
}

/// Options of ZRANGESTORE.
impl Request<'_, options::Zrangestore> {
    /// `BYSCORE`.
    pub fn byscore(self) -> Self {
        self.with("BYSCORE")
    }

    /// `BYLEX`.
    pub fn bylex(self) -> Self {
        self.with("BYLEX")
    }

    /// `REV`.
    pub fn rev(self) -> Self {
        self.with("REV")
    }

    /// `LIMIT`.
    pub fn limit(self, offset: impl Arg, count: impl Arg) -> Self {
        self.with("LIMIT").with(offset).with(count)
    }
}

/// Options of ZRANK.
impl Request<'_, options::Zrank> {
    /// `WITHSCORE`.
    pub fn withscore(self) -> Self {
        self.with("WITHSCORE")
    }
}

/// Options of ZREVRANGE.
impl Request<'_, options::Zrevrange> {
    /// `WITHSCORES`.
    pub fn withscores(self) -> Self {
        self.with("WITHSCORES")
    }
}

/// Options of ZREVRANGEBYLEX.
impl Request<'_, options::Zrevrangebylex> {
    /// `LIMIT`.
    pub fn limit(self, offset: impl Arg, count: impl Arg) -> Self {
        self.with("LIMIT").with(offset).with(count)
    }
}

/// Options of ZREVRANGEBYSCORE.
impl Request<'_, options::Zrevrangebyscore> {
    /// `WITHSCORES`.
    pub fn withscores(self) -> Self {
        self.with("WITHSCORES")
    }

    /// `LIMIT`.
    pub fn limit(self, offset: impl Arg, count: impl Arg) -> Self {
        self.with("LIMIT").with(offset).with(count)
    }
}

/// Options of ZREVRANK.
impl Request<'_, options::Zrevrank> {
    /// `WITHSCORE`.
    pub fn withscore(self) -> Self {
        self.with("WITHSCORE")
    }
}

/// Options of ZSCAN.
impl Request<'_, options::Zscan> {
    /// `MATCH`.
    pub fn match_(self, pattern: impl Arg) -> Self {
        self.with("MATCH").with(pattern)
    }

    /// `COUNT`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with("COUNT").with(count)
    }
}

/// Options of ZUNION.
impl Request<'_, options::Zunion> {
    /// `WEIGHTS`.
    pub fn weights(self, weights: impl Arg) -> Self {
        self.with("WEIGHTS").with(weights)
    }

    /// `AGGREGATE`.
    pub fn aggregate(self, aggregate: impl Arg) -> Self {
        self.with("AGGREGATE").with(aggregate)
    }

    /// `WITHSCORES`.
    pub fn withscores(self) -> Self {
        self.with("WITHSCORES")
    }
}

/// Options of ZUNIONSTORE.
impl Request<'_, options::Zunionstore> {
    /// `WEIGHTS`.
    pub fn weights(self, weights: impl Arg) -> Self {
        self.with("WEIGHTS").with(weights)
    }

    /// `AGGREGATE`.
    pub fn aggregate(self, aggregate: impl Arg) -> Self {
        self.with("AGGREGATE").with(aggregate)
    }
}

pub(super) mod options {
    //! The commands of this group that have options.

    /// Of BZMPOP.
    #[derive(Debug)]
    pub enum Bzmpop {}
    /// Of ZADD.
    #[derive(Debug)]
    pub enum Zadd {}
    /// Of ZDIFF.
    #[derive(Debug)]
    pub enum Zdiff {}
    /// Of ZINTER.
    #[derive(Debug)]
    pub enum Zinter {}
    /// Of ZINTERCARD.
    #[derive(Debug)]
    pub enum Zintercard {}
    /// Of ZINTERSTORE.
    #[derive(Debug)]
    pub enum Zinterstore {}
    /// Of ZMPOP.
    #[derive(Debug)]
    pub enum Zmpop {}
    /// Of ZPOPMAX.
    #[derive(Debug)]
    pub enum Zpopmax {}
    /// Of ZPOPMIN.
    #[derive(Debug)]
    pub enum Zpopmin {}
    /// Of ZRANDMEMBER.
    #[derive(Debug)]
    pub enum Zrandmember {}
    /// Of ZRANGE.
    #[derive(Debug)]
    pub enum Zrange {}
    /// Of ZRANGEBYLEX.
    #[derive(Debug)]
    pub enum Zrangebylex {}
    /// Of ZRANGEBYSCORE.
    #[derive(Debug)]
    pub enum Zrangebyscore {}
    /// Of ZRANGESTORE.
    #[derive(Debug)]
    pub enum Zrangestore {}
    /// Of ZRANK.
    #[derive(Debug)]
    pub enum Zrank {}
    /// Of ZREVRANGE.
    #[derive(Debug)]
    pub enum Zrevrange {}
    /// Of ZREVRANGEBYLEX.
    #[derive(Debug)]
    pub enum Zrevrangebylex {}
    /// Of ZREVRANGEBYSCORE.
    #[derive(Debug)]
    pub enum Zrevrangebyscore {}
    /// Of ZREVRANK.
    #[derive(Debug)]
    pub enum Zrevrank {}
    /// Of ZSCAN.
    #[derive(Debug)]
    pub enum Zscan {}
    /// Of ZUNION.
    #[derive(Debug)]
    pub enum Zunion {}
    /// Of ZUNIONSTORE.
    #[derive(Debug)]
    pub enum Zunionstore {}
}
