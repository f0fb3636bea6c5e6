import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { neutron, type SendRequest } from 'ipam-kit/provider/openstack'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { access, base, marker, seenOf, tag, unwrap } from './world.js'

let server: ChildProcess
let url = ''

beforeAll(async () => {
  server = spawn('npx', ['tsx', 'docs/examples/floating-ip-controller/fake-neutron.ts', '0'], { detached: true })
  const lines = createInterface({ input: server.stdout! })
  ;[url] = (await once(lines, 'line')) as [string]
})

afterAll(() => {
  // npx and the process that it has started
  if (server.pid !== undefined) process.kill(-server.pid)
})

const send: SendRequest = async ({ method, url: to, headers, body, timeoutMs }) => {
  const signal = AbortSignal.timeout(timeoutMs)
  const answer = await fetch(to, { method, headers, body: body ?? null, signal, redirect: 'manual' })
  return { status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() }
}

// biome-ignore lint/suspicious/noExplicitAny: what it answers is looked at by the test
async function control(asked: object): Promise<any> {
  return (await fetch(`${url}/_fake`, { method: 'POST', body: JSON.stringify(asked) })).json()
}

test('over a socket: create, lose an answer, list, mark, attach, delete', async () => {
  const auth = { auth_url: url, username: 'capo', password: 'capo', project_name: 'project' }
  const credentials = async () => ({ ok: true, value: { clouds: { one: { auth } } } }) as const
  const cloud = neutron({ send, now: Date.now, credentials })
  const network = unwrap(await cloud.findNetwork({ ...base, network: null })).id
  const create = (text: string) => cloud.createAddress({ ...base, network, marker: text })
  const created = unwrap(await create(marker))
  const { id, address, tags } = created
  expect([address, tags]).toEqual(['203.0.113.2', [tag]])

  await control({ inject: { operation: 'createAddress', troubles: ['lostAnswer', 'quota'] } })
  const lost = await create('pool-uid/lost')
  expect(lost).toMatchObject({ failure: { retryable: true } })
  expect(lost).not.toHaveProperty('failure.nothingDone')
  expect(await create('pool-uid/next')).toMatchObject({ failure: { reason: 'BackendExhausted', nothingDone: true } })
  const listed = unwrap(
    await cloud.listAddresses({ ...base, network, markers: ['pool-uid/'], tags: [], addresses: [] }),
  )
  expect(listed.addresses.map((it) => it.marker)).toEqual([marker, 'pool-uid/lost'])

  const spare = unwrap(await cloud.markAddress({ ...base, seen: seenOf(created), marker: 'pool-uid/spare' }))
  expect(spare.marker).toBe('pool-uid/spare')
  const { port } = await control({
    addPort: { device: 'vm', network, fixedIPs: [{ subnet: 's', address: '10.0.0.4' }] },
  })
  unwrap(await cloud.attachFloatingIP({ access, id, port, fixedAddress: '10.0.0.4', revision: null }))
  expect(await cloud.deleteAddress({ ...base, seen: seenOf(spare), address })).toMatchObject({ ok: false })
  unwrap(await cloud.detachFloatingIP({ access, id, port }))
  unwrap(await cloud.deleteAddress({ ...base, seen: { ...seenOf(spare), revision: '' }, address }))
  const end = await control({})
  expect(end).toMatchObject({ foreignDeletions: [], deleted: [{ id }], floatingIPs: [{ port: '' }] })
  expect(end.calls.authenticate).toBe(1)
})
