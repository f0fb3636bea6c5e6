package main

import (
	"runtime"
	"slices"
	"time"
)

const (
	samples  = 7
	sampleNs = 20e6
)

// medianNs is the time of one run, the median of some samples of at least 20 ms.
func medianNs(run func()) float64 {
	run()
	runtime.GC()
	runs := 1
	for timeOf(run, runs)*float64(runs) < sampleNs {
		runs *= 2
	}
	times := make([]float64, samples)
	for i := range times {
		times[i] = timeOf(run, runs)
	}
	slices.Sort(times)
	return times[samples/2]
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
