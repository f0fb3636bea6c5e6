import assert from 'node:assert/strict'
import { eachOf } from '../controller/client.js'
import type { Depth, Report } from '../report.js'
import { addressesIn, callPlugin, type Ended, type Subject } from './runtime.js'

/** How many processes there are at once. */
const PROCESSES: { readonly [D in Depth]: number } = { full: 500, short: 20 }

/** The CNI code for what ends by itself. */
const TRY_AGAIN = 11
const MOST_TRIES = 5

/** A process for each ADD, all at once: no address is given twice. Then a DEL for each. */
export async function many(report: Report, subject: Subject, folder: string, depth: Depth): Promise<void> {
  const count = PROCESSES[depth]
  const containers = Array.from({ length: count }, (_, nth) => `m${nth}`)
  await report.test(`${subject.name}: ${count} processes at once give ${count} addresses`, async () => {
    const given = new Map<string, string>()
    const times: number[] = []
    await eachOf(containers, count, async (container) => {
      const ended = await called(subject, folder, container)
      const [address = ''] = addressesIn(ended)
      assert.equal(given.get(address), undefined, `${address} is given twice`)
      given.set(address, container)
      times.push(ended.ms)
    })
    assert.equal(given.size, count)
    const rows = await subject.rows()
    assert.deepEqual(new Map(rows.map(({ address, container }) => [address, container])), given)
    assert.equal(rows.length, count)
    return `the slowest took ${(Math.max(...times) / 1000).toFixed(1)} s`
  })
  await report.test(`${subject.name}: DEL of all of them leaves nothing`, async () => {
    await eachOf(containers, 32, async (container) => {
      const { exit, json } = await callPlugin(subject, folder, 'DEL', { container })
      assert.deepEqual([exit, json], [0, undefined])
    })
    assert.deepEqual(await subject.rows(), [])
    return undefined
  })
}

/** A runtime calls again if the plugin says so: 500 processes on few cores keep a server busy. */
async function called(subject: Subject, folder: string, container: string): Promise<Ended> {
  for (let tries = 0; ; tries++) {
    const ended = await callPlugin(subject, folder, 'ADD', { container })
    const { code } = (ended.json ?? {}) as { readonly code?: number }
    if (code !== TRY_AGAIN || tries === MOST_TRIES) return ended
  }
}
