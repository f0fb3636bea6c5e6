//! Does the work of the benchmarks with ipnet and prefix-trie.
//!
//!     native CORPORA [WORK...]
//!
//! Reads the texts that bench/native/run.ts wrote to the folder CORPORA and prints a line of JSON for each work and peer.

use std::hint::black_box;
use std::net::Ipv4Addr;
use std::path::PathBuf;
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

impl Bench {
    /// Measures what `prepare` returns: how many operations one run is, and a run, which comes to a number that our side of the benchmark
    /// has to come to as well.
    fn row<R: Fn() -> u64>(&self, work: &str, peer: &str, prepare: impl FnOnce() -> (usize, R)) {
        if !self.0.is_empty() && !self.0.iter().any(|wanted| wanted == work) {
            return;
        }
        let (operations, run) = prepare();
        let answer = run();
        let ns = median_ns(&run) / operations as f64;
        println!(r#"{{"work":"{work}","peer":"{peer}","ns":{ns},"answer":{answer}}}"#);
    }
}

/// The time of one run, the median of some samples of at least 20 ms.
fn median_ns(run: &impl Fn() -> u64) -> f64 {
    let mut runs = 1;
    while time_of(run, runs) * f64::from(runs) < SAMPLE_NS {
        runs *= 2;
    }
    let mut times: Vec<f64> = (0..SAMPLES).map(|_| time_of(run, runs)).collect();
    times.sort_by(f64::total_cmp);
    times[SAMPLES / 2]
}

fn time_of(run: &impl Fn() -> u64, runs: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..runs {
        black_box(run());
    }
    start.elapsed().as_nanos() as f64 / f64::from(runs)
}

fn parse4(texts: Vec<String>) -> (usize, impl Fn() -> u64) {
    let parse = |text: &String| {
        let prefix: Ipv4Net = black_box(text).parse().unwrap();
        u64::from(prefix.addr().to_bits()) + u64::from(prefix.prefix_len())
    };
    (texts.len(), move || texts.iter().map(parse).sum())
}

fn parse6(texts: Vec<String>) -> (usize, impl Fn() -> u64) {
    let parse = |text: &String| {
        let prefix: Ipv6Net = black_box(text).parse().unwrap();
        let bits = prefix.addr().to_bits();
        let word = |index: u32| (bits >> (32 * index)) as u64 & 0xffff_ffff;
        (0..4).map(word).sum::<u64>() + u64::from(prefix.prefix_len())
    };
    (texts.len(), move || texts.iter().map(parse).sum())
}

fn aggregate(prefixes: Vec<Ipv4Net>) -> (usize, impl Fn() -> u64) {
    let operations = prefixes.len();
    let run = move || {
        let merged = Ipv4Net::aggregate(black_box(&prefixes));
        merged
            .iter()
            .map(|prefix| 1u64 << (32 - prefix.prefix_len()))
            .sum()
    };
    (operations, run)
}

/// Each prefix maps to its place in the list, counted from 1.
fn longest_match(texts: &Corpora, read: impl Fn(Ipv4Net, u64) -> u64) -> (usize, impl Fn() -> u64) {
    let mut map = PrefixMap::new();
    for (index, prefix) in texts.prefixes("prefixes4").into_iter().enumerate() {
        map.insert(prefix, index as u64 + 1);
    }
    let host = |text: &String| Ipv4Net::new_assert(text.parse::<Ipv4Addr>().unwrap(), 32);
    let probes: Vec<Ipv4Net> = texts.lines("probes4").iter().map(host).collect();
    let operations = probes.len();
    let run = move || {
        let found = probes
            .iter()
            .filter_map(|probe| black_box(&map).get_lpm(probe));
        found.map(|(prefix, value)| read(prefix, *value)).sum()
    };
    (operations, run)
}

/// Files with a text on each line.
struct Corpora(PathBuf);

impl Corpora {
    fn lines(&self, name: &str) -> Vec<String> {
        let content = std::fs::read_to_string(self.0.join(name)).unwrap();
        content.lines().map(str::to_owned).collect()
    }

    fn prefixes(&self, name: &str) -> Vec<Ipv4Net> {
        self.lines(name)
            .iter()
            .map(|text| text.parse().unwrap())
            .collect()
    }
}
