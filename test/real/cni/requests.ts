import assert from 'node:assert/strict'
import type { Report } from '../report.js'
import { waitFor } from '../servers/tools.js'
import type { Gate } from '../whereabouts/gate.js'
import { addressesIn, callPlugin, type Subject } from './runtime.js'

/** What an ADD on blocks asks the API server for, if nothing is known and with a watch. */
export async function requests(
  report: Report,
  {
    thin,
    thick,
    gate,
    folder,
  }: { readonly thin: Subject; readonly thick: Subject; readonly gate: Gate; readonly folder: string },
): Promise<void> {
  const costOf = async (subject: Subject, container: string) => {
    const before = gate.askedBy(CALL).length
    addressesIn(await callPlugin(subject, folder, 'ADD', { container }))
    return gate
      .askedBy(CALL)
      .slice(before)
      .map(({ method }) => method)
      .join(' ')
  }
  await report.test('an ADD on blocks costs 3 requests, and one by the daemon', async () => {
    // the first row of a block creates it
    assert.match(await costOf(thin, 'r0'), /^GET GET (POST|PATCH)$/)
    assert.equal(await costOf(thin, 'r1'), 'GET GET PATCH')
    let count = 0
    // until the daemon has listed
    await waitFor(async () => (await costOf(thick, `t${count++}`)) === 'PATCH' || undefined, {
      seconds: 60,
      else: 'an ADD by the daemon never costs one request',
    })
    assert.equal(await costOf(thick, 'last'), 'PATCH')
    for (const { container } of await thin.rows()) await callPlugin(thin, folder, 'DEL', { container })
    assert.deepEqual(await thin.rows(), [])
    return undefined
  })
}

/** The path of the gate. */
export const CALL = 'counted'
