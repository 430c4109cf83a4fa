//! How long encoding and decoding take, per key, and how fast checksum and compression are.
//!
//! `cargo run --release -p rdb --example speed`

#![expect(clippy::print_stdout, reason = "it is a program that prints")]

use std::hint::black_box;
use std::time::Instant;

use data::entry::Entry;
use rdb::{Access, Encoder, Item, Limits, Reader};
use stdx::rng::Rng;

const KEYS: usize = 100_000;

/// Nanoseconds per key that `f` takes for all of them, at best.
fn best(mut f: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..7 {
        let start = Instant::now();
        f();
        best = best.min(start.elapsed().as_nanos() as f64 / KEYS as f64);
    }
    best
}

/// A payload without its footer, which is the form of a value in a file.
fn value(kind: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![kind, (parts.len() / if kind == 4 || kind == 5 { 2 } else { 1 }) as u8];
    parts.iter().for_each(|p| out.extend_from_slice(p));
    out
}

fn string(text: String) -> Vec<u8> {
    [&[text.len() as u8][..], text.as_bytes()].concat()
}

fn entry(kind: &str, i: usize) -> Entry {
    let key = format!("key:{i:010}");
    let n = |j: usize| i * 7919 % 1_000_003 + j;
    let mut payload = match kind {
        "string, 20 bytes" => [&[0][..], &string(format!("value:{i:014}"))].concat(),
        "integer" => [&[0][..], &string(format!("{}", n(0)))].concat(),
        "hash, 5 fields" => value(
            4,
            &(0..10)
                .map(|j| string(format!("{}{j}:{}", ["field", "value"][j % 2], n(j))))
                .collect::<Vec<_>>(),
        ),
        "zset, 10 members" => value(
            5,
            &(0..20)
                .map(|j| match j % 2 {
                    0 => string(format!("member:{}", n(j))),
                    _ => (n(j) as f64).to_le_bytes().to_vec(),
                })
                .collect::<Vec<_>>(),
        ),
        "list, 10 elements" => {
            value(1, &(0..10).map(|j| string(format!("element:{}", n(j)))).collect::<Vec<_>>())
        }
        _ => value(2, &(0..10).map(|j| string(format!("{}", n(j)))).collect::<Vec<_>>()),
    };
    payload.extend_from_slice(&rdb::VERSION.to_le_bytes());
    payload.extend_from_slice(&[0; 8]);
    match rdb::restore(&payload, key.as_bytes(), None, Limits::default(), false) {
        Ok(e) => e,
        Err(e) => unreachable!("a valid payload: {e:?}"),
    }
}

fn main() {
    println!("nanoseconds per key       encode  compressed  decode  bytes");
    for kind in [
        "string, 20 bytes",
        "integer",
        "hash, 5 fields",
        "zset, 10 members",
        "list, 10 elements",
        "set, 10 integers",
    ] {
        let entries: Vec<Entry> = (0..KEYS).map(|i| entry(kind, i)).collect();
        let mut file = Vec::with_capacity(64 << 20);
        let mut write = |compress| {
            let mut encoder = Encoder::new(compress);
            best(|| {
                file.clear();
                encoder.header(&mut file);
                for e in &entries {
                    encoder.entry(&mut file, e, Access::Untold);
                }
                encoder.end(&mut file);
            })
        };
        let compressed = write(true);
        let plain = write(false);
        file.extend_from_slice(&[0; 8]);
        let read = best(|| {
            let Ok(mut reader) = Reader::new(&file[..], Limits::default(), false) else { return };
            while let Ok(Item::Entry(e)) = reader.next() {
                black_box(&e.entry);
            }
        });
        let bytes = file.len() / KEYS;
        println!("{kind:<24} {plain:>7.1}  {compressed:>10.1}  {read:>6.1}  {bytes:>5}");
    }
    let mut rng = Rng::from_seed(1);
    let text: Vec<u8> = (0..KEYS * 100).map(|_| b'a' + rng.below(8) as u8).collect();
    let gb = |ns: f64| text.len() as f64 / (ns * KEYS as f64);
    println!(
        "crc64                     {:.2} GB/s",
        gb(best(|| _ = black_box(rdb::crc64(0, &text))))
    );
    let mut packed = Vec::new();
    let mut compressor = rdb::lzf::Compressor::default();
    let ns = best(|| {
        packed.clear();
        compressor.compress(&text, &mut packed, text.len());
    });
    println!(
        "lzf, compress             {:.2} GB/s, to {}%",
        gb(ns),
        packed.len() * 100 / text.len()
    );
    let mut out = Vec::with_capacity(text.len());
    let ns = best(|| {
        out.clear();
        black_box(rdb::lzf::decompress(&packed, text.len(), &mut out));
    });
    println!("lzf, decompress           {:.2} GB/s", gb(ns));
}
