import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { machineRequests, STEPS } from '../../bench/persistent-requests.js'

const page = readFileSync(new URL('../../docs/reference/limits.md', import.meta.url), 'utf8')
const NAMES: Readonly<Record<string, string>> = {
  ipamclaims: 'claim',
  'ipamclaims/status': 'status',
  pods: 'Pod',
  ipblocks: 'block',
  virtualmachines: 'machine',
  virtualmachineinstances: 'instance',
}

/** `2: status, Pod`. */
function cellOf(requests: readonly string[]): string {
  const names = requests.map((request) => NAMES[request.split(' ')[1] ?? ''])
  return names.length === 0 ? '0' : `${names.length}: ${names.join(', ')}`
}

test('the requests of a machine are those of the page, and a start has not more than upstream', async () => {
  const [own, blocks] = [await machineRequests('objects'), await machineRequests('blocks')]
  const [, part = ''] = page.split('## Requests of a virtual machine')
  const rows = part.split('\n').filter((line) => line.startsWith('| '))
  const upstream = new Map(rows.map((row) => row.slice(2, -2).split(' | ')).map((cells) => [cells[0], cells[3] ?? '']))
  for (const step of STEPS) {
    const [ours, onBlocks] = [own.get(step) ?? [], blocks.get(step) ?? []]
    expect(page).toContain(`| ${step} | ${cellOf(ours)} | ${cellOf(onBlocks)} | ${upstream.get(step)} |`)
    if (step.endsWith('start')) expect(ours.length).toBeLessThanOrEqual(Number.parseInt(upstream.get(step) ?? '', 10))
  }
})
