module ipam-kit/bench/native

go 1.24.0

require (
	github.com/gaissmai/bart v0.30.0
	go4.org/netipx v0.0.0-20260823151212-3075585bcbeb
)
