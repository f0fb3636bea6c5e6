// npm run bench:native -- [--require] [--counts] [--only TEXT] [--no-gate] [--json FILE] [--page
// FILE]
//
// The same work with libraries of Go and Rust. The rows of a language that is not here are left
// out; with --require that is an error.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readBudget } from '../budget.js'
import * as corpora from '../corpora.js'
import { asRatio, Gate, heldBy } from '../gate.js'
import { type Measurement, measurement, ROUNDS } from '../harness.js'
import { measureMemory } from '../memory.js'
import { ours } from '../ours.js'
import { nodeName } from '../page.js'
import { asBytes, OPTIONS, Report } from '../report.js'
import { build, LANGUAGES, type Program, run, runOurs, speaks } from './programs.js'

const { values } = parseArgs({ options: { ...OPTIONS, require: { type: 'boolean' } } })
const isWanted = (name: string) => values.only === undefined || name.includes(values.only)

const budget = readBudget()
const gate = new Gate(budget, budget.native, { held: heldBy(values) })
const report = new Report()
const rounds = values.counts === true ? 1 : ROUNDS

const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-bench-'))
try {
  const programs = built()
  writeCorpora()
  for (const work of Object.keys(ours).filter(isWanted)) {
    const peers = peersOf(work).filter((peer) => programs.some(({ speaksFor }) => speaksFor(peer)))
    for (const result of await gate.measure(work, peers, (some) => measureBeside(programs, work, some))) {
      report.ratio(result)
    }
  }
  for (const work of Object.keys(budget.native)) {
    if (!(work in ours)) gate.fail(`${work}: in bench/budget.json, and no such benchmark`)
  }
  if (programs.length > 0 && Object.keys(budget.bytes).some(isWanted)) compareMemory(programs)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
report.finish(gate, `Go and Rust beside ${nodeName()}`, values)

function peersOf(work: string): string[] {
  return Object.keys(budget.native[work] ?? {})
}

/** A program for each language. Where only some rows are wanted, those of their peers. */
function built(): Program[] {
  const peers = Object.keys(ours).filter(isWanted).flatMap(peersOf)
  const languages = LANGUAGES.filter((language) => values.only === undefined || peers.some(speaks(language)))
  return languages.flatMap((language) => {
    const program = build(language)
    if (typeof program !== 'string') return [program]
    console.log(program)
    if (values.require === true) gate.fail(program)
    return []
  })
}

/** The texts that we work on, a file for each list: the programs work on the same. */
function writeCorpora(): void {
  const lists = {
    addresses4: corpora.addresses4(),
    addresses6: corpora.addresses6(),
    'some-prefixes4': corpora.someOf(corpora.prefixes4()),
    'some-prefixes6': corpora.someOf(corpora.prefixes6()),
    prefixes4: corpora.prefixes4(),
    prefixes6: corpora.prefixes6(),
    taken4: corpora.taken4(),
    probes4: corpora.probes4(),
    probes6: corpora.probes6(),
  }
  for (const [name, texts] of Object.entries(lists)) writeFileSync(join(folder, name), `${texts.join('\n')}\n`)
}

/**
 * Best of three medians. The programs and we take turns, each in a process of its own for each
 * work.
 */
function measureBeside(programs: readonly Program[], work: string, peers: readonly string[]): Measurement[] {
  const best = new Map<string, number>(peers.map((peer) => [peer, Number.POSITIVE_INFINITY]))
  let oursNs = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) {
    const us = runOurs(work)
    oursNs = Math.min(oursNs, us.ns)
    for (const program of programs.filter(({ speaksFor }) => peers.some(speaksFor))) {
      for (const reply of run(program, folder, work)) {
        if (reply.ns === undefined || !best.has(reply.peer)) continue
        if (reply.answer !== us.answer) {
          throw new Error(`${work}: ${reply.peer} does not do the same work: ${reply.answer}, not ${us.answer}`)
        }
        best.set(reply.peer, Math.min(best.get(reply.peer)!, reply.ns))
      }
    }
  }
  return [...best].map(([peer, theirsNs]) => {
    if (theirsNs === Number.POSITIVE_INFINITY) throw new Error(`${work}: no program knows ${peer}`)
    return measurement(work, peer, oursNs, theirsNs)
  })
}

function compareMemory(programs: readonly Program[]): void {
  for (const { what, bytes } of measureMemory()) {
    for (const { peer, bytes: theirs } of programs.flatMap((program) => run(program, folder, what))) {
      if (theirs === undefined) continue
      const cells = [asBytes(bytes), asBytes(theirs), asRatio(theirs / bytes), '-', '-']
      report.row({ what, peer, oursBytes: bytes, theirsBytes: theirs }, [what, peer, ...cells])
    }
  }
}
