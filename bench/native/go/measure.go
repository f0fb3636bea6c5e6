package main

import (
	"runtime"
	"slices"
	"time"
)

const (
	samples  = 7
	sampleNs = 20e6
	// work that takes so long for one run is sampled less often
	slowNs      = 100e6
	slowSamples = 3
)

// medianNs is the time of one run, the median of some samples of at least 20 ms.
func medianNs(run func()) float64 {
	run()
	runtime.GC()
	runs, first := 1, timeOf(run, 1)
	for took := first; took < sampleNs; took = timeOf(run, runs) * float64(runs) {
		runs *= 2
	}
	count := samples
	if first > slowNs {
		count = slowSamples
	}
	times := make([]float64, count)
	for i := range times {
		times[i] = timeOf(run, runs)
	}
	slices.Sort(times)
	return times[count/2]
}

func timeOf(run func(), runs int) float64 {
	start := time.Now()
	for range runs {
		run()
	}
	return float64(time.Since(start).Nanoseconds()) / float64(runs)
}

// heapBytes is what stays on the heap for each value that build makes.
func heapBytes[T any](build func() T) float64 {
	const copies = 5
	kept := make([]T, copies)
	before := heapInUse()
	for i := range kept {
		kept[i] = build()
	}
	after := heapInUse()
	runtime.KeepAlive(kept)
	return float64(after-before) / copies
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
