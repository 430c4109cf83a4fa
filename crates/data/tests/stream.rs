//! Streams against models: a plain list of entries cut into nodes by the listpack that Redis would
//! keep, and maps of pending entries.

use std::collections::BTreeMap;

use data::big::Value as _;
use data::packed::Item;
use data::stream::{Group, Id, NodeLimits, Pending, Stream, Trim};
use stdx::rng::Rng;

type Texts = Vec<Vec<u8>>;

#[derive(Clone)]
struct ModelNode {
    /// ID, texts, deleted.
    entries: Vec<(Id, Texts, bool)>,
    listpack: usize,
}

impl ModelNode {
    fn live(&self) -> u64 {
        self.entries.iter().filter(|e| !e.2).count() as u64
    }

    /// Bytes of the listpack, its counts of entries included.
    fn listpack(&self) -> usize {
        let live = self.live() as i64;
        let deleted = self.entries.len() as i64 - live;
        self.listpack + Item::Int(live).encoded_len() + Item::Int(deleted).encoded_len()
    }
}

#[derive(Default)]
struct Model {
    nodes: Vec<ModelNode>,
    last: Id,
}

fn int(n: u64) -> usize {
    Item::Int(n as i64).encoded_len()
}

fn text(t: &[u8]) -> usize {
    Item::of(t).encoded_len()
}

impl Model {
    fn len(&self) -> u64 {
        self.nodes.iter().map(ModelNode::live).sum()
    }

    fn live(&self) -> impl DoubleEndedIterator<Item = (Id, &Texts)> {
        self.nodes.iter().flat_map(|n| &n.entries).filter(|e| !e.2).map(|e| (e.0, &e.1))
    }

    fn append(&mut self, id: Id, texts: &Texts, limits: NodeLimits) {
        let sum: usize = texts.iter().map(Vec::len).sum();
        let max = if limits.bytes == 0 { 1 << 30 } else { limits.bytes };
        let full = self.nodes.last().is_none_or(|n| {
            n.listpack() + sum >= max || limits.entries != 0 && n.entries.len() >= limits.entries
        });
        let fields: Vec<_> = texts.iter().step_by(2).cloned().collect();
        if full {
            let listpack = 9 + int(fields.len() as u64);
            let listpack = listpack + fields.iter().map(|f| text(f)).sum::<usize>();
            self.nodes.push(ModelNode { entries: Vec::new(), listpack });
        }
        let node = self.nodes.last_mut().expect("one at least");
        let (first, master) = match node.entries.first() {
            Some((id, texts, _)) => (*id, texts.iter().step_by(2).cloned().collect()),
            None => (id, fields.clone()),
        };
        let same = master == fields;
        let n = fields.len() as u64;
        node.listpack += 2
            + int(id.ms.wrapping_sub(first.ms))
            + int(id.seq.wrapping_sub(first.seq))
            + texts.iter().skip(1).step_by(2).map(|t| text(t)).sum::<usize>();
        node.listpack += if same {
            int(n + 3)
        } else {
            int(n) + int(2 * n + 4) + fields.iter().map(|t| text(t)).sum::<usize>()
        };
        node.entries.push((id, texts.clone(), false));
        self.last = id;
    }

    fn delete(&mut self, id: Id) -> bool {
        let Some((n, node)) = self
            .nodes
            .iter_mut()
            .enumerate()
            .find(|(_, n)| n.entries.iter().any(|e| e.0 == id && !e.2))
        else {
            return false;
        };
        node.entries.iter_mut().filter(|e| e.0 == id).for_each(|e| e.2 = true);
        if node.live() == 0 {
            self.nodes.remove(n);
        }
        true
    }

    fn trim(&mut self, trim: Trim, approximate: bool, limit: u64) -> u64 {
        let mut gone = 0;
        while let Some(node) = self.nodes.first() {
            let (len, live) = (self.len(), node.live());
            if matches!(trim, Trim::MaxLen(max) if len <= max) || limit > 0 && gone + live > limit {
                break;
            }
            let whole = match trim {
                Trim::MaxLen(max) => len - live >= max,
                Trim::MinId(min) => node.entries.last().expect("one at least").0 < min,
            };
            if whole {
                self.nodes.remove(0);
                gone += live;
                continue;
            }
            if !approximate {
                let mut left = len;
                for e in &mut self.nodes[0].entries {
                    let stop = match trim {
                        Trim::MaxLen(max) => left <= max,
                        Trim::MinId(min) => e.0 >= min,
                    };
                    if stop {
                        break;
                    }
                    if !e.2 {
                        e.2 = true;
                        left -= 1;
                        gone += 1;
                    }
                }
            }
            break;
        }
        gone
    }
}

fn some_text(rng: &mut Rng) -> Vec<u8> {
    match rng.index(12) {
        0 => Vec::new(),
        1 => i64::MIN.to_string().into_bytes(),
        2 => u64::MAX.to_string().into_bytes(),
        3 => b"007".to_vec(),
        4 => vec![b'x'; rng.index(300)],
        5 if rng.index(20) == 0 => vec![b'y'; 5000 + rng.index(9000)],
        6 | 7 => ((rng.next_u64() as i64) >> rng.index(64)).to_string().into_bytes(),
        8 => rng.index(130).to_string().into_bytes(),
        _ => format!("value-{}", rng.index(1000)).into_bytes(),
    }
}

fn some_texts(rng: &mut Rng) -> Texts {
    let n = match rng.index(20) {
        0 => 1 + rng.index(40),
        1..=4 => 1 + rng.index(4),
        _ => 3,
    };
    let usual = n == 3 && rng.index(8) > 0;
    (0..n)
        .flat_map(|i| {
            let field = if usual { format!("f{i}").into_bytes() } else { some_text(rng) };
            [field, some_text(rng)]
        })
        .collect()
}

fn read<'a>(entries: impl Iterator<Item = data::stream::Entry<'a>>) -> Vec<(Id, Texts)> {
    entries
        .map(|e| {
            let texts = e.fields().flat_map(|(f, v)| [f.to_vec(), v.to_vec()]).collect();
            (e.id, texts)
        })
        .collect()
}

fn next_id(rng: &mut Rng, last: Id) -> Id {
    let id = match rng.index(20) {
        0 => Id::new(last.ms.saturating_add(1 << rng.index(40)), rng.next_u64() >> rng.index(64)),
        1 => Id::new(last.ms, last.seq.saturating_add(1 << rng.index(40))),
        2..=8 => Id::new(last.ms.saturating_add(rng.index(200) as u64), 0),
        _ => Id::new(last.ms, last.seq.saturating_add(1)),
    };
    if id > last { id } else { last.next().unwrap_or(last) }
}

fn some_id(rng: &mut Rng, model: &Model) -> Id {
    let all: Vec<Id> = model.nodes.iter().flat_map(|n| &n.entries).map(|e| e.0).collect();
    match all.get(rng.index(all.len() + 2)) {
        Some(id) if rng.index(4) == 0 => id.next().unwrap_or(*id),
        Some(id) => *id,
        None => [Id::MIN, Id::MAX][rng.index(2)],
    }
}

fn compare(stream: &Stream, model: &Model, rng: &mut Rng) {
    let log = &stream.log;
    assert_eq!((log.len(), log.nodes()), (model.len(), model.nodes.len()));
    assert_eq!(log.first(), model.live().next().map_or(Id::MIN, |e| e.0));
    assert_eq!(log.last_entry(), model.live().next_back().map(|e| e.0));
    let (a, b) = (some_id(rng, model), some_id(rng, model));
    let mut expected: Vec<_> = model
        .live()
        .filter(|(id, _)| (a..=b).contains(id))
        .map(|(id, texts)| (id, texts.clone()))
        .collect();
    assert!(read(log.range(a, b)) == expected, "{a} to {b}");
    expected.reverse();
    assert!(read(log.range_rev(a, b)) == expected, "{b} to {a}");
}

#[test]
fn a_log_is_what_the_model_says() {
    for seed in 0..24 {
        let mut rng = Rng::from_seed(seed);
        let limits = NodeLimits {
            bytes: [4096, 0, 200, 1000][rng.index(4)],
            entries: [100, 0, 1, 7, 150][rng.index(5)],
        };
        let (mut stream, mut model) = (Stream::default(), Model::default());
        let mut longest = 0;
        for round in 0..1200 {
            match rng.index(40) {
                0 => {
                    let trim = if rng.index(2) == 0 {
                        Trim::MaxLen(model.len().saturating_sub(rng.index(40) as u64))
                    } else {
                        let near = model.live().nth(rng.index(40)).map(|e| e.0);
                        Trim::MinId(near.unwrap_or(Id::MAX).min(some_id(&mut rng, &model)))
                    };
                    let (approximate, limit) = (rng.index(2) == 0, rng.index(3) as u64 * 60);
                    let mut ids: Vec<Id> = model.live().map(|e| e.0).collect();
                    let mut noted = Vec::new();
                    let gone = stream.log.trim_noting(trim, approximate, limit, Some(&mut noted));
                    assert_eq!(gone, model.trim(trim, approximate, limit), "{trim:?} {seed}");
                    ids.truncate(gone as usize);
                    assert_eq!(noted, ids, "{trim:?} {seed}");
                }
                1..=12 => {
                    let id = some_id(&mut rng, &model);
                    assert_eq!(stream.log.delete(id), model.delete(id), "{id} {seed}");
                }
                _ => {
                    let id = next_id(&mut rng, stream.log.last);
                    if id > stream.log.last {
                        let texts = some_texts(&mut rng);
                        stream.log.append(id, texts.iter().map(Vec::as_slice), limits);
                        model.append(id, &texts, limits);
                    }
                }
            }
            longest = longest.max(model.len());
            if round % 40 == 0 {
                compare(&stream, &model, &mut rng);
            }
        }
        compare(&stream, &model, &mut rng);
        compare(&stream.duplicate(), &model, &mut rng);
        assert!(longest > 50, "{longest} {seed}");
    }
}

#[test]
fn groups_are_what_the_model_says() {
    for seed in 0..8 {
        let mut rng = Rng::from_seed(seed);
        let mut stream = Stream::default();
        assert!(stream.add_group(b"g", Id::MIN, None));
        assert!(!stream.add_group(b"g", Id::MIN, None));
        let mut model: BTreeMap<Id, (usize, u64)> = BTreeMap::new();
        let mut next = 0;
        for round in 0..20_000 {
            let (mut group, _) = stream.group_mut(b"g").expect("there");
            let n = rng.index(30);
            let some = Id::new(rng.below(next + 1), 0);
            match rng.index(12) {
                0 if rng.index(100) == 0 => {
                    let name = format!("c{n}");
                    let before = model.len();
                    model.retain(|_, (consumer, _)| *consumer != n);
                    let gone = group.remove_consumer(name.as_bytes());
                    assert_eq!(gone.unwrap_or(0), before - model.len());
                }
                0..=4 => {
                    assert_eq!(group.forget(some), model.remove(&some).is_some());
                }
                draw => {
                    let id = if draw < 10 { Id::new(next, 0) } else { some };
                    next += 1;
                    let (consumer, _) = group.find_or_add(format!("c{n}").as_bytes(), 5);
                    let count = rng.below(100);
                    group.assign(id, Pending { time: 7, count, consumer });
                    model.insert(id, (n, count));
                }
            }
            if round % 1000 != 0 {
                continue;
            }
            let name = |p: &Pending| group.consumer(p.consumer).expect("there").name().to_vec();
            let found: Vec<_> = group.pending(some).map(|(id, p)| (id, name(p), p.count)).collect();
            let expected: Vec<_> = model
                .range(some..)
                .map(|(id, (n, count))| (*id, format!("c{n}").into_bytes(), *count))
                .collect();
            assert_eq!(found, expected);
            assert_eq!(group.pending_len(), model.len());
            for consumer in group.consumers() {
                let own = expected.iter().filter(|e| e.1 == consumer.name()).map(|e| e.0);
                assert!(consumer.pending(some).eq(own));
            }
        }
        assert!(model.len() > 100);
        let copy = stream.duplicate();
        assert!(copy.bytes() > 0 && stream.remove_group(b"g"));
        // Room for four groups.
        assert_eq!(stream.bytes(), stdx::mem::size_class(size_of::<Group>() * 4));
    }
}

#[test]
fn copies_of_groups_go_on() {
    // A copy has no spare room, wherever the last piece of its lists ends.
    for n in 1..=130 {
        let mut stream = Stream::default();
        stream.add_group(b"g", Id::MIN, None);
        let add = |stream: &mut Stream, ms| {
            let (mut group, _) = stream.group_mut(b"g").expect("there");
            let (consumer, _) = group.find_or_add(b"c", 5);
            group.assign(Id::new(ms, 0), Pending { time: 7, count: 1, consumer });
        };
        (1..=n).for_each(|ms| add(&mut stream, ms));
        let mut copy = stream.duplicate();
        (n + 1..=n + 3).for_each(|ms| add(&mut copy, ms));
        let ids = |stream: &Stream| -> Vec<u64> {
            let group = stream.group(b"g").expect("there");
            group.pending(Id::MIN).map(|(id, _)| id.ms).collect()
        };
        assert_eq!(ids(&copy), (1..=n + 3).collect::<Vec<_>>());
        assert_eq!(ids(&stream), (1..=n).collect::<Vec<_>>());
    }
}

/// All that there is to be saved, node by node.
fn image(stream: &Stream) -> (Vec<(Id, bool, Texts)>, Vec<String>) {
    let log = &stream.log;
    let entries = log.saved_nodes().flat_map(|node| node.entries());
    let entries = entries.map(|e| {
        (e.id, e.deleted, e.fields().flat_map(|(f, v)| [f.to_vec(), v.to_vec()]).collect())
    });
    let mut notes = vec![format!("{} {} {} {}", log.last, log.max_deleted, log.added, log.len())];
    for group in stream.groups() {
        notes.push(format!("{:?} {} {:?}", group.name(), group.last, group.pending_len()));
        notes.extend(group.pending(Id::MIN).map(|(id, p)| format!("{id} {p:?}")));
        for consumer in group.consumers() {
            let ids: Vec<_> = consumer.pending(Id::MIN).collect();
            notes.push(format!("{:?} {} {ids:?}", consumer.name(), consumer.pending_len()));
        }
    }
    (entries.collect(), notes)
}

fn change(stream: &mut Stream, rng: &mut Rng, limits: NodeLimits) {
    let some = |rng: &mut Rng, stream: &Stream| {
        let (first, last) = (stream.log.first(), stream.log.last);
        Id::new(first.ms + rng.below(last.ms - first.ms + 1), 0)
    };
    match rng.index(200) {
        0 => {
            let len = stream.log.len();
            stream.log.trim(Trim::MaxLen(len - rng.below(len / 60 + 1)), rng.index(2) == 0, 0);
        }
        1 if rng.index(9) == 0 => drop(stream.remove_group(b"g2")),
        2 => drop(stream.add_group(b"g2", Id::MIN, None)),
        3..30 => drop(stream.log.delete(some(rng, stream))),
        30..110 => {
            let id = some(rng, stream);
            let name: &[u8] = [b"g1", b"g2"][rng.index(2)];
            let Some((mut group, _)) = stream.group_mut(name) else { return };
            let name = format!("c{}", rng.index(6));
            match rng.index(20) {
                0 if rng.index(40) == 0 => drop(group.remove_consumer(name.as_bytes())),
                1 => group.set_delivery(id, 8, 3),
                2..6 => drop(group.forget(id)),
                _ => {
                    let (consumer, _) = group.find_or_add(name.as_bytes(), 5);
                    group.assign(id, Pending { time: 7, count: rng.below(9), consumer });
                }
            }
        }
        110..114 => stream.forget(some(rng, stream)),
        _ => {
            let id = Id::new(stream.log.last.ms + 1, 0);
            let texts = some_texts(rng);
            stream.log.append(id, texts.iter().map(Vec::as_slice), limits);
        }
    }
}

#[test]
fn a_frozen_stream_stays_as_it_was() {
    for seed in 0..4 {
        let mut rng = Rng::from_seed(seed);
        let limits = NodeLimits { bytes: 4096, entries: [4, 10, 30][rng.index(3)] };
        let mut stream = Stream::default();
        stream.add_group(b"g1", Id::MIN, None);
        let mut frozen = Vec::new();
        for round in 0..20_000 {
            change(&mut stream, &mut rng, limits);
            if round % 2_500 == 1_000 {
                let then = image(&stream);
                frozen.push((stream.freeze(), then));
                assert!(image(&stream) == frozen[frozen.len() - 1].1);
            }
            if round % 3_000 == 2_000 {
                let (copy, then) = frozen.swap_remove(rng.index(frozen.len()));
                assert!(image(&copy) == then, "seed {seed}, round {round}");
            }
        }
        assert!(stream.log.nodes() > 70, "{}", stream.log.nodes());
        drop(stream);
        assert!(frozen.len() > 1);
        assert!(frozen.iter().all(|(copy, then)| image(copy) == *then));
    }
}

#[test]
fn another_thread_reads_a_frozen_stream() {
    let mut rng = Rng::from_seed(1);
    let limits = NodeLimits { bytes: 4096, entries: 5 };
    let mut stream = Stream::default();
    stream.add_group(b"g1", Id::MIN, None);
    for _ in 0..20 {
        let (copy, then) = (stream.freeze(), image(&stream));
        std::thread::scope(|scope| {
            scope.spawn(move || assert!(image(&copy) == then));
            (0..500).for_each(|_| change(&mut stream, &mut rng, limits));
        });
    }
}
