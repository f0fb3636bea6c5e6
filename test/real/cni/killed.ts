import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { eachOf } from '../controller/client.js'
import type { Depth, Report } from '../report.js'
import type { DaemonProcess } from './daemon-process.js'
import { addressesIn, callPlugin, type Subject } from './runtime.js'

/** How many calls there are, and how often the daemon is killed in their midst. */
const SIZES: { readonly [D in Depth]: { readonly calls: number; readonly kills: number } } = {
  full: { calls: 120, kills: 6 },
  short: { calls: 24, kills: 2 },
}
const ATONCE = 12
const MOST_TRIES = 20

/** The daemon is killed and started again while shims pass ADDs on: a runtime calls again. */
export async function killed(
  report: Report,
  { subject, daemon, folder }: { readonly subject: Subject; readonly daemon: DaemonProcess; readonly folder: string },
  depth: Depth,
): Promise<void> {
  const { calls, kills } = SIZES[depth]
  const containers = Array.from({ length: calls }, (_, nth) => `k${nth}`)
  await report.test(`${subject.name}: the daemon is killed ${kills} times in ${calls} ADDs`, async () => {
    const given = new Map<string, string>()
    const interrupted = new Set<string>()
    let failures = 0
    let ended = 0
    const add = async (container: string) => {
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        const { exit, json, ms } = await callPlugin(subject, folder, 'ADD', { container })
        if (exit === 0) {
          const [address = ''] = addressesIn({ exit, json, ms })
          assert.equal(given.get(address), undefined, `${address} is given twice`)
          given.set(address, container)
          ended++
          return
        }
        assert.equal((json as { readonly code?: number }).code, 11, JSON.stringify(json))
        failures++
        interrupted.add(container)
        await sleep(200)
      }
      throw new Error(`${container} was not served in ${MOST_TRIES} calls`)
    }
    const adding = eachOf(containers, ATONCE, add)
    for (let nth = 1; nth <= kills; nth++) {
      while (ended < (nth * calls) / (kills + 1)) await sleep(5)
      await daemon.kill()
      await daemon.start()
    }
    await adding
    const rows = await subject.rows()
    const holders = new Map(rows.map(({ address, container }) => [address, container]))
    assert.equal(holders.size, rows.length, 'an address has two rows')
    for (const [address, container] of given) assert.equal(holders.get(address), container, address)
    // the write of a killed daemon, in a block that the next ADD does not read: DEL releases it
    const extra = rows.filter(({ address }) => !given.has(address))
    for (const { address, container } of extra) assert(interrupted.has(container), `${address} of ${container}`)
    await eachOf(containers, ATONCE, async (container) => {
      const { exit, json } = await callPlugin(subject, folder, 'DEL', { container })
      assert.deepEqual([exit, json], [0, undefined])
    })
    assert.deepEqual(await subject.rows(), [])
    return `${failures} calls were made again, ${extra.length} of them had left a row`
  })
}
