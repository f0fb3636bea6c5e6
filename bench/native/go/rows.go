package main

import (
	"encoding/binary"
	"hash/fnv"
	"net/netip"

	"github.com/gaissmai/bart"
	"go4.org/netipx"
)

// What a work returned last: keeps the compiler from dropping it.
var (
	sinkAddr   netip.Addr
	sinkPrefix netip.Prefix
	sinkSet    *netipx.IPSet
	sinkSum    uint64
)

func rows(texts corpora) []row {
	const std, netipxSet, lite, table = "Go net/netip", "Go netipx", "Go bart Lite", "Go bart Table"
	return []row{
		{"parse IPv4", std, func() side { return parse(texts.lines("addresses4")) }},
		{"parse IPv6", std, func() side { return parse(texts.lines("addresses6")) }},
		{"format IPv4", std, func() side { return format(texts.lines("addresses4")) }},
		{"format IPv6", std, func() side { return format(texts.lines("addresses6")) }},
		{"parse IPv4 prefix", std, func() side { return parsePrefix(texts.lines("some-prefixes4")) }},
		{"parse IPv6 prefix", std, func() side { return parsePrefix(texts.lines("some-prefixes6")) }},
		{"merge 100,000 IPv4 prefixes", netipxSet, func() side { return merge(prefixes(texts, "prefixes4")) }},
		{"merge 100,000 IPv6 prefixes", netipxSet, func() side { return merge(prefixes(texts, "prefixes6")) }},
		{"merge 100,000 IPv4 prefixes, then 65,536 lookups", netipxSet, func() side {
			return setAndLook(prefixes(texts, "prefixes4"), addresses(texts, "probes4"))
		}},
		{"merge 100,000 IPv4 prefixes, then 65,536 lookups", lite, func() side {
			return liteAndLook(prefixes(texts, "prefixes4"), addresses(texts, "probes4"))
		}},
		{"merge 100,000 IPv6 prefixes, then 65,536 lookups", netipxSet, func() side {
			return setAndLook(prefixes(texts, "prefixes6"), addresses(texts, "probes6"))
		}},
		{"merge 100,000 IPv6 prefixes, then 65,536 lookups", lite, func() side {
			return liteAndLook(prefixes(texts, "prefixes6"), addresses(texts, "probes6"))
		}},
		{"subtract 10,000 IPv4 prefixes from 100,000", netipxSet, func() side {
			return subtract(prefixes(texts, "prefixes4"), prefixes(texts, "taken4"))
		}},
		{"contains, 100,000 IPv4 prefixes", netipxSet, func() side {
			return setContains(prefixes(texts, "prefixes4"), addresses(texts, "probes4"))
		}},
		{"contains, 100,000 IPv4 prefixes", lite, func() side {
			return liteContains(prefixes(texts, "prefixes4"), addresses(texts, "probes4"))
		}},
		{"contains, 100,000 IPv6 prefixes", netipxSet, func() side {
			return setContains(prefixes(texts, "prefixes6"), addresses(texts, "probes6"))
		}},
		{"contains, 100,000 IPv6 prefixes", lite, func() side {
			return liteContains(prefixes(texts, "prefixes6"), addresses(texts, "probes6"))
		}},
		{"longest match, value, 100,000 IPv4 prefixes", table, func() side {
			return lookup(prefixes(texts, "prefixes4"), addresses(texts, "probes4"))
		}},
		{"longest match, prefix and value, 100,000 IPv4 prefixes", table, func() side {
			return lookupPrefix(prefixes(texts, "prefixes4"), addresses(texts, "probes4"))
		}},
	}
}

func memoryRows(texts corpora) []memoryRow {
	return []memoryRow{
		{"memory of a set, each IPv4 range", "Go netipx", func() float64 {
			list := prefixes(texts, "prefixes4")
			return heapBytes(func() *netipx.IPSet { return setOf(list) }) / float64(len(setOf(list).Ranges()))
		}},
		{"memory of a set, each IPv6 range", "Go netipx", func() float64 {
			list := prefixes(texts, "prefixes6")
			return heapBytes(func() *netipx.IPSet { return setOf(list) }) / float64(len(setOf(list).Ranges()))
		}},
		{"memory of a map, each IPv4 prefix", "Go bart Table", func() float64 {
			list := prefixes(texts, "prefixes4")
			return heapBytes(func() *bart.Table[int] { return tableOf(list) }) / float64(tableOf(list).Size())
		}},
	}
}

func parse(texts []string) side {
	run := func() {
		for _, text := range texts {
			sinkAddr, _ = netip.ParseAddr(text)
		}
	}
	answer := func() (sum uint64) {
		for _, text := range texts {
			sum += words(netip.MustParseAddr(text))
		}
		return sum
	}
	return side{len(texts), run, answer}
}

func format(texts []string) side {
	addresses := make([]netip.Addr, len(texts))
	for i, text := range texts {
		addresses[i] = netip.MustParseAddr(text)
	}
	run := func() {
		sum := uint64(0)
		for _, address := range addresses {
			text := address.String()
			sum += uint64(len(text))*256 + uint64(text[len(text)-1])
		}
		sinkSum = sum
	}
	// as hashOf on our side
	answer := func() uint64 {
		hash := fnv.New32a()
		for _, address := range addresses {
			hash.Write([]byte(address.String() + "\n"))
		}
		return uint64(hash.Sum32())
	}
	return side{len(texts), run, answer}
}

func parsePrefix(texts []string) side {
	run := func() {
		for _, text := range texts {
			sinkPrefix, _ = netip.ParsePrefix(text)
		}
	}
	answer := func() (sum uint64) {
		for _, text := range texts {
			prefix := netip.MustParsePrefix(text)
			sum += words(prefix.Addr()) + uint64(prefix.Bits())
		}
		return sum
	}
	return side{len(texts), run, answer}
}

func merge(prefixes []netip.Prefix) side {
	run := func() { sinkSet = setOf(prefixes) }
	return side{len(prefixes), run, func() uint64 { return count(setOf(prefixes)) }}
}

func subtract(prefixes, taken []netip.Prefix) side {
	base, less := setOf(prefixes), setOf(taken)
	run := func() {
		var builder netipx.IPSetBuilder
		builder.AddSet(base)
		builder.RemoveSet(less)
		sinkSet = built(&builder)
	}
	return side{len(prefixes), run, func() uint64 { run(); return count(sinkSet) }}
}

func setContains(prefixes []netip.Prefix, probes []netip.Addr) side {
	set := setOf(prefixes)
	run := func() { sinkSum = inSet(set, probes) }
	return side{len(probes), run, answerOf(run)}
}

func liteContains(prefixes []netip.Prefix, probes []netip.Addr) side {
	table := liteOf(prefixes)
	run := func() { sinkSum = inLite(table, probes) }
	return side{len(probes), run, answerOf(run)}
}

func setAndLook(prefixes []netip.Prefix, probes []netip.Addr) side {
	run := func() { sinkSum = inSet(setOf(prefixes), probes) }
	return side{1, run, answerOf(run)}
}

func liteAndLook(prefixes []netip.Prefix, probes []netip.Addr) side {
	run := func() { sinkSum = inLite(liteOf(prefixes), probes) }
	return side{1, run, answerOf(run)}
}

func inSet(set *netipx.IPSet, probes []netip.Addr) (sum uint64) {
	for _, probe := range probes {
		if set.Contains(probe) {
			sum++
		}
	}
	return sum
}

func inLite(table *bart.Lite, probes []netip.Addr) (sum uint64) {
	for _, probe := range probes {
		if table.Contains(probe) {
			sum++
		}
	}
	return sum
}

func lookup(prefixes []netip.Prefix, probes []netip.Addr) side {
	table := tableOf(prefixes)
	run := func() {
		sum := uint64(0)
		for _, probe := range probes {
			value, _ := table.Lookup(probe)
			sum += uint64(value)
		}
		sinkSum = sum
	}
	return side{len(probes), run, answerOf(run)}
}

func lookupPrefix(prefixes []netip.Prefix, probes []netip.Addr) side {
	table := tableOf(prefixes)
	hosts := make([]netip.Prefix, len(probes))
	for i, probe := range probes {
		hosts[i] = netip.PrefixFrom(probe, probe.BitLen())
	}
	run := func() {
		sum := uint64(0)
		for _, host := range hosts {
			if prefix, value, ok := table.LookupPrefixLPM(host); ok {
				sum += uint64(value) + uint64(prefix.Bits())
			}
		}
		sinkSum = sum
	}
	return side{len(probes), run, answerOf(run)}
}

// answerOf is what a run that adds up leaves.
func answerOf(run func()) func() uint64 {
	return func() uint64 {
		run()
		return sinkSum
	}
}

// count is the number of addresses of an IPv4 set. Those of an IPv6 set are too many: the words of its ends are added up.
func count(set *netipx.IPSet) (sum uint64) {
	for _, ipRange := range set.Ranges() {
		if ipRange.From().Is4() {
			sum += words(ipRange.To()) - words(ipRange.From()) + 1
		} else {
			sum += words(ipRange.From()) + words(ipRange.To())
		}
	}
	return sum
}

// words is the sum of the 32-bit words of an address.
func words(address netip.Addr) (sum uint64) {
	bytes := address.AsSlice()
	for i := 0; i < len(bytes); i += 4 {
		sum += uint64(binary.BigEndian.Uint32(bytes[i:]))
	}
	return sum
}

func addresses(texts corpora, name string) (list []netip.Addr) {
	for _, text := range texts.lines(name) {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

func prefixes(texts corpora, name string) (list []netip.Prefix) {
	for _, text := range texts.lines(name) {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func setOf(prefixes []netip.Prefix) *netipx.IPSet {
	var builder netipx.IPSetBuilder
	for _, prefix := range prefixes {
		builder.AddPrefix(prefix)
	}
	return built(&builder)
}

func built(builder *netipx.IPSetBuilder) *netipx.IPSet {
	set, err := builder.IPSet()
	must(err)
	return set
}

func liteOf(prefixes []netip.Prefix) *bart.Lite {
	table := new(bart.Lite)
	for _, prefix := range prefixes {
		table.Insert(prefix)
	}
	return table
}

// tableOf maps each prefix to its place in the list, counted from 1.
func tableOf(prefixes []netip.Prefix) *bart.Table[int] {
	table := new(bart.Table[int])
	for i, prefix := range prefixes {
		table.Insert(prefix, i+1)
	}
	return table
}
