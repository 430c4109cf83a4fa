use super::*;

fn filled(n: usize, max: usize) -> Vec<u8> {
    let mut value = empty();
    for i in 0..n {
        if add(&mut value, format!("e{i}").as_bytes(), max) == Ok(true) {
            forget(&mut value);
        }
    }
    value
}

#[test]
fn the_hash_is_murmur64a() {
    // SMHasher's verification value of MurmurHash64A is over many inputs; these are of Redis's own
    // function with its seed.
    assert_eq!(murmur64a(b"", SEED), murmur64a(&[], SEED));
    assert_eq!(murmur64a(b"", 0), 0);
    assert_ne!(murmur64a(b"a", SEED), murmur64a(b"a\0", SEED));
}

#[test]
fn estimates_are_close_and_the_same_in_both_encodings() {
    for n in [0, 1, 2, 10, 100, 500, 1000, 3000, 20_000, 100_000] {
        let sparse = filled(n, 100_000);
        let dense = to_dense(&sparse).expect("well formed");
        let usual = filled(n, 3000);
        assert_eq!(registers(&sparse), registers(&dense));
        assert_eq!(registers(&sparse), registers(&usual));
        let counted = count(&sparse).expect("well formed");
        assert_eq!(Ok(counted), count(&dense));
        assert_eq!(counted, count_registers(&registers(&dense).expect("well formed")));
        let error = (counted as f64 - n as f64).abs() / (n as f64).max(1.0);
        assert!(error < 0.05, "{n}: {counted}");
    }
}

#[test]
fn merging_gives_the_same_bytes_as_raising_one_by_one() {
    for n in [1, 50, 700, 1200, 5000] {
        let from = registers(&filled(n, 3000)).expect("well formed");
        let (mut hinted, mut plain) = (filled(300, 3000), filled(300, 3000));
        raise_all(&mut hinted, &from, 3000).expect("well formed");
        for (index, count) in from.iter().enumerate().filter(|(_, c)| **c > 0) {
            match encoding(&plain).expect("one") {
                Encoding::Dense => dense::raise(&mut plain[HEAD..], index, *count),
                Encoding::Sparse => {
                    sparse::raise(&mut plain, &mut sparse::Hint::default(), index, *count, 3000)
                        .expect("well formed")
                }
            };
        }
        assert!(hinted == plain, "{n}");
    }
}

#[test]
fn damaged_values_are_refused_or_read_without_harm() {
    let mut rng = stdx::rng::Rng::from_seed(3);
    for n in [0, 5, 300, 3000] {
        let good = filled(n, 3000);
        for _ in 0..300 {
            let mut bad = good.clone();
            for _ in 0..rng.index(4) + 1 {
                let at = rng.index(bad.len());
                bad[at] = rng.next_u64() as u8;
            }
            if rng.index(3) == 0 {
                bad.truncate(rng.index(bad.len()));
            }
            let _ = (encoding(&bad), cached(&bad), count(&bad), registers(&bad));
            let _ = (to_dense(&bad), runs(&bad).count());
            for i in 0..20 {
                let _ = add(&mut bad, format!("x{i}").as_bytes(), 3000);
            }
            let mut target = bad.clone();
            let _ = raise_all(&mut target, &[7; REGISTERS], 3000);
        }
    }
}
