// Command native does the work of the benchmarks with libraries of Go: what go.mod names.
//
//	native CORPORA [WORK...]
//
// It reads the texts that bench/native/run.ts wrote to the folder CORPORA and prints a line of JSON for each work and peer.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// row is one work as one peer does it.
type row struct {
	work    string
	peer    string
	prepare func() side
}

// side is ready to do its work, operations times in one run. The answer is a number that our side of the benchmark has to come to as well.
type side struct {
	operations int
	run        func()
	answer     func() uint64
}

type result struct {
	Work   string  `json:"work"`
	Peer   string  `json:"peer"`
	Ns     float64 `json:"ns"`
	Answer uint64  `json:"answer"`
}

// memoryRow is how much one value takes, for each of its parts.
type memoryRow struct {
	work  string
	peer  string
	bytes func() float64
}

type memoryResult struct {
	Work  string  `json:"work"`
	Peer  string  `json:"peer"`
	Bytes float64 `json:"bytes"`
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: native CORPORA [WORK...]")
		os.Exit(2)
	}
	texts, wanted := corpora{folder: os.Args[1]}, os.Args[2:]
	isWanted := func(work string) bool { return len(wanted) == 0 || slices.Contains(wanted, work) }
	output := json.NewEncoder(os.Stdout)
	for _, row := range slices.Concat(rows(texts), allocatorRows(), modelRows()) {
		if isWanted(row.work) {
			side := row.prepare()
			must(output.Encode(result{row.work, row.peer, medianNs(side.run) / float64(side.operations), side.answer()}))
		}
	}
	for _, row := range slices.Concat(memoryRows(texts), allocatorMemoryRows()) {
		if isWanted(row.work) {
			must(output.Encode(memoryResult{row.work, row.peer, row.bytes()}))
		}
	}
}

// corpora are files with a text on each line.
type corpora struct{ folder string }

func (c corpora) lines(name string) []string {
	content, err := os.ReadFile(filepath.Join(c.folder, name))
	must(err)
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
