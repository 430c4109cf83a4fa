//! Deltas: those of fossil-delta for Go, which Centrifugo uses, and random ones, good and bad.

use live_protocol::delta::{apply, create};
use stdx::rng::Rng;

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |b: u8| char::from(b).to_digit(16).expect("a digit") as u8;
    hex.as_bytes().chunks(2).map(|two| digit(two[0]) << 4 | digit(two[1])).collect()
}

#[test]
fn deltas_of_the_other_implementation_apply_and_ours_are_no_longer() {
    let (mut ours, mut theirs) = (0, 0);
    for line in include_str!("fixtures/deltas.txt").lines() {
        let [source, target, delta] =
            line.split('|').map(bytes).collect::<Vec<_>>().try_into().expect("three");
        assert_eq!(apply(&source, &delta, 1 << 20).as_deref(), Some(&target[..]), "{line}");
        let made = create(&source, &target);
        assert_eq!(apply(&source, &made, target.len()).as_deref(), Some(&target[..]), "{line}");
        ours += made.len();
        theirs += delta.len();
    }
    assert!(ours <= theirs + theirs / 50, "{ours} bytes, {theirs} of the other");
    assert_eq!(create(b"", b""), b"0\n0;");
}

/// A text in which parts come again; of few letters, some of several bytes.
fn text(rng: &mut Rng, from: &str) -> String {
    let letters: Vec<char> = "abc \u{e9}\u{20ac}\u{1f600}".chars().collect();
    let source: Vec<char> = from.chars().collect();
    let mut out = String::new();
    for _ in 0..rng.below(8) {
        if rng.below(2) == 0 && !source.is_empty() {
            let at = rng.below(source.len() as u64) as usize;
            let len = rng.below(200) as usize;
            out.extend(source[at..].iter().take(len));
        } else {
            out.extend(
                (0..rng.below(60)).map(|_| letters[rng.below(letters.len() as u64) as usize]),
            );
        }
    }
    out
}

#[test]
fn what_was_made_into_a_delta_comes_out_and_texts_stay_texts() {
    let mut rng = Rng::from_seed(1);
    let mut copies = 0;
    for _ in 0..3000 {
        let source = text(&mut rng, "");
        let target = text(&mut rng, &source);
        let delta = create(source.as_bytes(), target.as_bytes());
        assert_eq!(
            apply(source.as_bytes(), &delta, target.len()).as_deref(),
            Some(target.as_bytes())
        );
        let delta = String::from_utf8(delta).expect("UTF-8");
        copies += usize::from(delta.contains('@'));
        // Bytes that are no text.
        let source: Vec<u8> = (0..rng.below(300)).map(|_| 0x7e + rng.below(4) as u8).collect();
        let mut target = source.clone();
        target.rotate_left(rng.below(source.len() as u64 + 1) as usize);
        let delta = create(&source, &target);
        assert_eq!(apply(&source, &delta, target.len()), Some(target));
    }
    assert!(copies > 500, "{copies} with copies");
}

#[test]
fn hostile_deltas_are_refused() {
    let source = b"0123456789abcdef0123456789abcdef";
    for bad in [
        "",
        "0",
        "0\n",
        "0\n;",
        "0\n0",
        "0\n1;",
        "0\n0;x",
        "1\n0;",
        "~~~~~~\n0;",
        "1\n1:",
        "1\n1@0",
        "1\n1@0,",
        "2\n1:a1:b0;",
        "W\nW@1,0;",
        "1\n~~~~~~~~~~~@0,0;",
        "1\n1@~~~~~~~~~~,0;",
        "1\n~~~~~~~~~~~~~~:a0;",
        "1\n1-a0;",
        "1 1:a",
        "\n",
    ] {
        assert_eq!(apply(source, bad.as_bytes(), 1000), None, "{bad}");
    }
    let good = create(source, source);
    assert!(apply(source, &good, source.len()).is_some());
    assert_eq!(apply(source, &good, source.len() - 1), None, "more than permitted");
    // A short delta that copies much stays within what is permitted.
    let bomb = format!("~~~~\n{}0;", "W@0,".repeat(10_000));
    assert_eq!(apply(source, bomb.as_bytes(), 1000), None);
    let mut rng = Rng::from_seed(2);
    for _ in 0..20_000 {
        let mut delta = good.clone();
        for _ in 0..=rng.below(3) {
            let at = rng.below(delta.len() as u64) as usize;
            delta[at] = rng.next_u64() as u8;
        }
        // The checksum is weak; no panic, and never more than permitted.
        assert!(apply(source, &delta, 100).is_none_or(|made| made.len() <= 100));
    }
}
