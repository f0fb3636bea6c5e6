//! Does the work of the benchmarks with ipnet and prefix-trie.
//!
//!     native CORPORA [WORK...]
//!
//! Reads the texts that bench/native/run.ts wrote to the folder CORPORA and prints a line of JSON for each work and peer.

use std::fmt::Debug;
use std::hint::black_box;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::rc::Rc;
use std::str::FromStr;
use std::time::Instant;

use ipnet::{Ipv4Net, Ipv6Net};
use prefix_trie::PrefixMap;

const SAMPLES: usize = 7;
const SAMPLE_NS: f64 = 20e6;

const IPNET: &str = "Rust ipnet";
const TRIE: &str = "Rust prefix-trie";

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        eprintln!("usage: native CORPORA [WORK...]");
        std::process::exit(2);
    };
    let texts = Corpora(folder.into());
    let bench = Bench(arguments.collect());

    bench.row("parse IPv4 prefix", IPNET, || {
        parse4(texts.lines("some-prefixes4"))
    });
    bench.row("parse IPv6 prefix", IPNET, || {
        parse6(texts.lines("some-prefixes6"))
    });
    bench.row("merge 100,000 IPv4 prefixes", IPNET, || {
        aggregate(texts.prefixes("prefixes4"))
    });
    bench.row("longest match, value, 100,000 IPv4 prefixes", TRIE, || {
        longest_match(&texts, |_, value| value)
    });
    bench.row(
        "longest match, prefix and value, 100,000 IPv4 prefixes",
        TRIE,
        || {
            longest_match(&texts, |prefix, value| {
                value + u64::from(prefix.prefix_len())
            })
        },
    );
}

/// The works that are wanted, all if there are none.
struct Bench(Vec<String>);

/// A work that is prepared: how many operations one run is, a run, and the number that it comes to, which is that of our side of the
/// benchmark too. A run does no more than ours does: what comes out is added up apart from it, unless we add it up as well.
struct Side<R, A> {
    operations: usize,
    run: R,
    answer: A,
}

impl Bench {
    fn row<R: Fn(), A: Fn() -> u64>(
        &self,
        work: &str,
        peer: &str,
        prepare: impl FnOnce() -> Side<R, A>,
    ) {
        if !self.0.is_empty() && !self.0.iter().any(|wanted| wanted == work) {
            return;
        }
        let side = prepare();
        let answer = (side.answer)();
        let ns = median_ns(&side.run) / side.operations as f64;
        println!(r#"{{"work":"{work}","peer":"{peer}","ns":{ns},"answer":{answer}}}"#);
    }
}

/// The time of one run, the median of some samples of at least 20 ms.
fn median_ns(run: &impl Fn()) -> f64 {
    let mut runs = 1;
    while time_of(run, runs) * f64::from(runs) < SAMPLE_NS {
        runs *= 2;
    }
    let mut times: Vec<f64> = (0..SAMPLES).map(|_| time_of(run, runs)).collect();
    times.sort_by(f64::total_cmp);
    times[SAMPLES / 2]
}

fn time_of(run: &impl Fn(), runs: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..runs {
        run();
    }
    start.elapsed().as_nanos() as f64 / f64::from(runs)
}

fn parse4(texts: &'static [String]) -> Side<impl Fn(), impl Fn() -> u64> {
    parse(texts, |prefix: Ipv4Net| {
        u64::from(prefix.addr().to_bits()) + u64::from(prefix.prefix_len())
    })
}

fn parse6(texts: &'static [String]) -> Side<impl Fn(), impl Fn() -> u64> {
    parse(texts, |prefix: Ipv6Net| {
        let bits = prefix.addr().to_bits();
        let word = |index: u32| (bits >> (32 * index)) as u64 & 0xffff_ffff;
        (0..4).map(word).sum::<u64>() + u64::from(prefix.prefix_len())
    })
}

fn parse<T: FromStr<Err: Debug>>(
    texts: &'static [String],
    number: impl Fn(T) -> u64,
) -> Side<impl Fn(), impl Fn() -> u64> {
    let read = |text: &String| black_box(text).parse::<T>().unwrap();
    Side {
        operations: texts.len(),
        run: move || {
            for text in texts {
                black_box(read(text));
            }
        },
        answer: move || texts.iter().map(read).map(&number).sum(),
    }
}

fn aggregate(prefixes: &'static Vec<Ipv4Net>) -> Side<impl Fn(), impl Fn() -> u64> {
    let size = |prefix: &Ipv4Net| 1u64 << (32 - prefix.prefix_len());
    Side {
        operations: prefixes.len(),
        run: move || {
            black_box(Ipv4Net::aggregate(black_box(prefixes)));
        },
        answer: move || Ipv4Net::aggregate(prefixes).iter().map(size).sum(),
    }
}

/// Each prefix maps to its place in the list, counted from 1.
fn longest_match(
    texts: &Corpora,
    read: impl Fn(Ipv4Net, u64) -> u64,
) -> Side<impl Fn(), impl Fn() -> u64> {
    let mut map = PrefixMap::new();
    for (index, prefix) in texts.prefixes("prefixes4").iter().enumerate() {
        map.insert(*prefix, index as u64 + 1);
    }
    let host = |text: &String| Ipv4Net::new_assert(text.parse::<Ipv4Addr>().unwrap(), 32);
    let probes: Vec<Ipv4Net> = texts.lines("probes4").iter().map(host).collect();
    let operations = probes.len();
    let sum = Rc::new(move || -> u64 {
        let found = probes
            .iter()
            .filter_map(|probe| black_box(&map).get_lpm(probe));
        found.map(|(prefix, value)| read(prefix, *value)).sum()
    });
    let answer = Rc::clone(&sum);
    Side {
        operations,
        run: move || {
            black_box(sum());
        },
        answer: move || answer(),
    }
}

/// Files with a text on each line. What is read stays for as long as the program runs.
struct Corpora(PathBuf);

impl Corpora {
    fn lines(&self, name: &str) -> &'static Vec<String> {
        let content = std::fs::read_to_string(self.0.join(name)).unwrap();
        Box::leak(Box::new(content.lines().map(str::to_owned).collect()))
    }

    fn prefixes(&self, name: &str) -> &'static Vec<Ipv4Net> {
        let parsed = self.lines(name).iter().map(|text| text.parse().unwrap());
        Box::leak(Box::new(parsed.collect()))
    }
}
