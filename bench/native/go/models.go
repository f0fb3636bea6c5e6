package main

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"go4.org/netipx"
)

// Models of how providers of today serve a claim, without their logging, locking and storage: estimates on the fast side. Each of them holds so many
// addresses while one comes and goes.
const served = 1000

const serveWork = "serve a claim, with text and record, /16, 1,000 in use"

func modelRows() []row {
	return []row{
		{serveWork, "Go model of in-cluster", serveInCluster},
		{serveWork, "Go model of whereabouts", serveWhereabouts},
		{serveWork, "Go model of go-ipam", serveGoIpam},
	}
}

// claims is the side in which one claim after the other is given an address, and gives it back.
func claims(allocate func(id string) string, release func(id string)) side {
	ids := make([]string, 4096)
	for i := range ids {
		ids[i] = "claim-" + strconv.Itoa(i)
	}
	claim, last := 0, ""
	run := func() {
		for range few {
			id := ids[claim%len(ids)]
			claim++
			last = allocate(id)
			release(id)
		}
	}
	return side{few, run, func() uint64 { run(); return words(netip.MustParseAddr(last)) }}
}

// serveInCluster parses all addresses in use into a set, and looks the addresses of the pool up in it until one is free.
func serveInCluster() side {
	pool := setOf([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")})
	var texts []string
	for i := range served {
		texts = append(texts, address4(0x0a000000+uint32(i)).String())
	}
	free := func() netip.Addr {
		var builder netipx.IPSetBuilder
		for _, text := range texts {
			builder.Add(netip.MustParseAddr(text))
		}
		inUse := built(&builder)
		for _, part := range pool.Ranges() {
			for address := part.From(); part.Contains(address); address = address.Next() {
				if !inUse.Contains(address) {
					return address
				}
			}
		}
		panic("no address is left")
	}
	return claims(
		func(string) string {
			texts = append(texts, free().String())
			return texts[len(texts)-1]
		},
		func(string) { texts = texts[:len(texts)-1] },
	)
}

type reservation struct {
	address net.IP
	podRef  string
	ifName  string
}

// serveWhereabouts looks for the pod among all reservations, makes a map of their texts, and walks to the first address that is not in it.
func serveWhereabouts() side {
	const ifName = "net1"
	var reservations []reservation
	for i := range served {
		address := address4(0x0a000000 + uint32(i)).As4()
		reservations = append(reservations, reservation{net.IP(address[:]), strconv.Itoa(i), ifName})
	}
	placeOf := func(podRef string) int {
		return slices.IndexFunc(reservations, func(known reservation) bool {
			return known.podRef == podRef && known.ifName == ifName
		})
	}
	allocate := func(podRef string) string {
		if at := placeOf(podRef); at >= 0 {
			return reservations[at].address.String()
		}
		reserved := map[string]bool{}
		for _, known := range reservations {
			reserved[known.address.String()] = true
		}
		last := net.IPv4(10, 0, 255, 255)
		for address := (net.IP{10, 0, 0, 0}); !address.Equal(last); address = after(address) {
			if !reserved[address.String()] {
				reservations = append(reservations, reservation{address, podRef, ifName})
				return address.String()
			}
		}
		panic("no address is left")
	}
	release := func(podRef string) {
		at := placeOf(podRef)
		reservations = slices.Delete(reservations, at, at+1)
	}
	return claims(allocate, release)
}

func after(address net.IP) net.IP {
	next := slices.Clone(address)
	for i := len(next) - 1; i >= 0; i-- {
		next[i]++
		if next[i] != 0 {
			break
		}
	}
	return next
}

// serveGoIpam reads a copy of the map of all addresses, walks to the first that is not in it, and writes another copy. A release does so as well.
func serveGoIpam() side {
	stored := map[string]bool{}
	records := map[string]string{}
	acquire := func() string {
		addresses := maps.Clone(stored)
		for address := address4(0x0a000000); ; address = address.Next() {
			text := address.String()
			if !addresses[text] {
				addresses[text] = true
				stored = maps.Clone(addresses)
				return text
			}
		}
	}
	for range served {
		acquire()
	}
	return claims(
		func(id string) string {
			records[id] = acquire()
			return records[id]
		},
		func(id string) {
			addresses := maps.Clone(stored)
			delete(addresses, records[id])
			stored = maps.Clone(addresses)
			delete(records, id)
		},
	)
}
