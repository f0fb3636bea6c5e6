package main

import (
	"encoding/json"
	"net"
	"net/netip"
	"runtime"
	"strconv"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/bits-and-blooms/bitset"
	cnitypes "github.com/containernetworking/cni/pkg/types"
	hostlocal "github.com/containernetworking/plugins/plugins/ipam/host-local/backend/allocator"
	"go4.org/netipx"
	"k8s.io/kubernetes/pkg/controller/nodeipam/ipam/cidrset"
	"k8s.io/kubernetes/pkg/registry/core/service/allocator"
)

const (
	slots64K = 65_536
	slots12  = 1 << 20
	million  = 1_000_000
	// operations of one run where each takes long, and where it does not
	few  = 16
	many = 65_536
)

func allocatorRows() []row {
	const bits, roar, cidrs, cni = "Go bitset", "Go roaring", "Go k8s cidrset", "Go CNI host-local"
	// the bitmap that its ipallocator has below the addresses
	const k8s = "Go k8s ipallocator bitmap"
	return []row{
		{"fill 65,536 slots, next free", bits, func() side { return fillNext(slots64K) }},
		{"fill 1,000,000 slots, next free", bits, func() side { return fillNext(million) }},
		{"the last free of 65,536 slots", roar, lastOfRoaring},
		{"the last free of 65,536 slots", k8s, func() side { return lastOfMap(slots64K) }},
		{"the last free of 1,000,000 slots", k8s, func() side { return lastOfMap(million) }},
		{"fill 65,536 slots at random", k8s, func() side { return fillAtRandom(slots64K, slots64K) }},
		{"fill 90 % of 1,000,000 slots at random", k8s, func() side { return fillAtRandom(million, million/10*9) }},
		{"churn at 90 % of 65,536 slots, at random", k8s, func() side { return churnAtRandom(slots64K) }},
		{"churn at 90 % of 1,000,000 slots, at random", k8s, func() side { return churnAtRandom(million) }},
		{"fill a /8 with /24, bitmap", cidrs, fillChildren},
		{"fill a /8 with /24, prefix tree", cidrs, fillChildren},
		{"the last free /24 of a /8, bitmap", cidrs, lastChild},
		{"a /24 of a /8 with 8,192 holes, prefix tree", "Go netipx", childOfHoles},
		{"1,000,000 addresses in use from the bits of a bitmap", k8s, restoreMap},
		{"1,000,000 addresses in use from Base64 of a bitmap", "Go bitset, JSON", restoreBitset},
		{"1,000,000 addresses in use from texts", "Go netipx", setFromTexts},
		{"fill a /16, with owners and texts", cni, fillHostLocal},
	}
}

func allocatorMemoryRows() []memoryRow {
	const work = "memory of a bitmap half full at random, each slot"
	taken := func() []uint32 {
		random := draws{2}
		list := make([]uint32, 0, million/2)
		seen := bitset.New(million)
		for len(list) < million/2 {
			if slot := random.below(million); !seen.Test(uint(slot)) {
				seen.Set(uint(slot))
				list = append(list, uint32(slot))
			}
		}
		return list
	}
	each := func(peer string, build func(list []uint32) any) memoryRow {
		return memoryRow{work, peer, func() float64 {
			list := taken()
			defer runtime.KeepAlive(list)
			return heapBytes(func() any { return build(list) }) / million
		}}
	}
	return []memoryRow{
		each("Go bitset", func(list []uint32) any {
			set := bitset.New(million)
			for _, slot := range list {
				set.Set(uint(slot))
			}
			return set
		}),
		each("Go roaring", func(list []uint32) any { return roaring.BitmapOf(list...) }),
		each("Go k8s ipallocator bitmap", func(list []uint32) any {
			slots := mapOf(million)
			for _, slot := range list {
				occupy(slots, int(slot))
			}
			return slots
		}),
	}
}

// draws are numbers from a seed: the same as on our side.
type draws struct{ state uint32 }

func (d *draws) below(limit int) int {
	d.state = d.state*1664525 + 1013904223
	return int(uint64(d.state) * uint64(limit) >> 32)
}

func fillNext(size uint) side {
	fill := func() (sum uint64) {
		set := bitset.New(size)
		for slot, ok := set.NextClear(0); ok; slot, ok = set.NextClear(slot + 1) {
			set.Set(slot)
			sum += uint64(slot)
		}
		return sum
	}
	return side{int(size), func() { sinkSum = fill() }, fill}
}

// lastOfRoaring stays within one container: NextAbsentValue does not find the way past a full one (v2.30.0).
func lastOfRoaring() side {
	set := roaring.New()
	set.AddRange(0, slots64K-1)
	run := func() {
		sum := uint64(0)
		for range many {
			slot := uint32(set.NextAbsentValue(0))
			set.Add(slot)
			set.Remove(slot)
			sum += uint64(slot)
		}
		sinkSum = sum / many
	}
	return side{many, run, answerOf(run)}
}

func lastOfMap(size int) side {
	slots := mapOf(size)
	for slot := range size - 1 {
		occupy(slots, slot)
	}
	run := func() {
		sum := uint64(0)
		for range few {
			slot := next(slots)
			must(slots.Release(slot))
			sum += uint64(slot)
		}
		sinkSum = sum / few
	}
	return side{few, run, answerOf(run)}
}

func fillAtRandom(size, used int) side {
	fill := func() uint64 {
		slots := mapOf(size)
		for range used {
			next(slots)
		}
		return uint64(size - slots.Free())
	}
	return side{used, func() { sinkSum = fill() }, fill}
}

// churnAtRandom frees one of the slots that are held and takes another, again and again.
func churnAtRandom(size int) side {
	slots, random := mapOf(size), draws{3}
	held := make([]int, size/10*9)
	for i := range held {
		held[i] = next(slots)
	}
	run := func() {
		for range many {
			at := random.below(len(held))
			must(slots.Release(held[at]))
			held[at] = next(slots)
		}
	}
	return side{many, run, func() uint64 { return uint64(size - slots.Free()) }}
}

// mapOf makes the bitmap as ipallocator does for so many addresses.
func mapOf(size int) *allocator.AllocationBitmap {
	return allocator.NewAllocationMapWithOffset(size, "", min(max(16, size/16), 256))
}

func next(slots *allocator.AllocationBitmap) int {
	slot, ok, err := slots.AllocateNext()
	must(err)
	if !ok {
		panic("no slot is left")
	}
	return slot
}

func occupy(slots *allocator.AllocationBitmap, slot int) {
	_, err := slots.Allocate(slot)
	must(err)
}

func fillChildren() side {
	fill := func() (sum uint64) {
		set := childrenOf("10.0.0.0/8")
		for range 1 << 16 {
			child, err := set.AllocateNext()
			must(err)
			sum += word(child)
		}
		return sum
	}
	return side{1 << 16, func() { sinkSum = fill() }, fill}
}

func lastChild() side {
	set := childrenOf("10.0.0.0/8")
	for range 1<<16 - 1 {
		_, err := set.AllocateNext()
		must(err)
	}
	run := func() {
		sum := uint64(0)
		for range few {
			child, err := set.AllocateNext()
			must(err)
			must(set.Release(child))
			sum += word(child)
		}
		sinkSum = sum / few
	}
	return side{few, run, answerOf(run)}
}

func childrenOf(cidr string) *cidrset.CidrSet {
	_, parent, err := net.ParseCIDR(cidr)
	must(err)
	set, err := cidrset.NewCIDRSet(parent, 24)
	must(err)
	return set
}

func word(child *net.IPNet) uint64 {
	address, _ := netip.AddrFromSlice(child.IP)
	return words(address)
}

// childOfHoles takes a /24 of every second /22 of a /8, all of which are free. The set is the same in each run.
func childOfHoles() side {
	var builder netipx.IPSetBuilder
	for hole := range 1 << 13 {
		builder.AddPrefix(netip.PrefixFrom(address4(0x0a000000+uint32(hole)<<11), 22))
	}
	set := built(&builder)
	run := func() {
		for range few {
			_, sinkSet, _ = set.RemoveFreePrefix(24)
		}
	}
	return side{few, run, func() uint64 { run(); return count(sinkSet) }}
}

func address4(word uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(word >> 24), byte(word >> 16), byte(word >> 8), byte(word)})
}

// stored is what a restart has to read back: a million addresses in use of those of a /12.
func stored() *bitset.BitSet {
	random := draws{12}
	set := bitset.New(slots12)
	for used := 0; used < million; {
		if slot := uint(random.below(slots12)); !set.Test(slot) {
			set.Set(slot)
			used++
		}
	}
	return set
}

func restoreMap() side {
	before, after := mapOf(slots12), mapOf(slots12)
	for slot := range stored().EachSet() {
		occupy(before, int(slot))
	}
	spec, bytes := before.Snapshot()
	run := func() { must(after.Restore(spec, bytes)) }
	answer := func() uint64 {
		run()
		low := 0
		for slot := range slots64K {
			if after.Has(slot) {
				low++
			}
		}
		return uint64((slots12-after.Free())*slots64K + low)
	}
	return side{1, run, answer}
}

func restoreBitset() side {
	text, err := json.Marshal(stored())
	must(err)
	var set bitset.BitSet
	run := func() {
		set = bitset.BitSet{}
		must(json.Unmarshal(text, &set))
	}
	answer := func() uint64 {
		run()
		return uint64(set.Count()*slots64K + set.Rank(slots64K-1))
	}
	return side{1, run, answer}
}

func setFromTexts() side {
	var texts []string
	for slot := range stored().EachSet() {
		texts = append(texts, address4(0x0a000000+uint32(slot)).String())
	}
	run := func() {
		var builder netipx.IPSetBuilder
		for _, text := range texts {
			builder.Add(netip.MustParseAddr(text))
		}
		sinkSet = built(&builder)
	}
	// of the set that was made last
	answer := func() uint64 {
		var low netipx.IPSetBuilder
		low.AddSet(sinkSet)
		low.Intersect(setOf([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}))
		return count(sinkSet)*slots64K + count(built(&low))
	}
	return side{1, run, answer}
}

// fillHostLocal takes all addresses of a /16 but for the network, the gateway and the broadcast address.
func fillHostLocal() side {
	_, subnet, err := net.ParseCIDR("10.0.0.0/16")
	must(err)
	ranges := hostlocal.RangeSet{hostlocal.Range{Subnet: cnitypes.IPNet(*subnet)}}
	must(ranges.Canonicalize())
	ids := make([]string, 1<<16-3)
	for i := range ids {
		ids[i] = "claim-" + strconv.Itoa(i)
	}
	fill := func() (sum uint64) {
		store := &memoryStore{owners: map[string]string{}, addresses: map[string][]net.IP{}}
		addresses := hostlocal.NewIPAllocator(&ranges, store, 0)
		for _, id := range ids {
			config, err := addresses.Get(id, "eth0", nil)
			must(err)
			sum += word(&config.Address)
		}
		return sum
	}
	return side{len(ids), func() { sinkSum = fill() }, fill}
}

// memoryStore keeps what is reserved in maps, by the text of the address and by its holder.
type memoryStore struct {
	owners    map[string]string
	addresses map[string][]net.IP
	last      net.IP
}

func (s *memoryStore) Lock() error   { return nil }
func (s *memoryStore) Unlock() error { return nil }
func (s *memoryStore) Close() error  { return nil }

func (s *memoryStore) Reserve(id, ifname string, ip net.IP, _ string) (bool, error) {
	text := ip.String()
	if _, taken := s.owners[text]; taken {
		return false, nil
	}
	holder := id + "/" + ifname
	s.owners[text] = holder
	s.addresses[holder] = append(s.addresses[holder], ip)
	s.last = ip
	return true, nil
}

func (s *memoryStore) LastReservedIP(string) (net.IP, error) { return s.last, nil }

func (s *memoryStore) ReleaseByID(id, ifname string) error {
	holder := id + "/" + ifname
	for _, ip := range s.addresses[holder] {
		delete(s.owners, ip.String())
	}
	delete(s.addresses, holder)
	return nil
}

func (s *memoryStore) GetByID(id, ifname string) []net.IP { return s.addresses[id+"/"+ifname] }
