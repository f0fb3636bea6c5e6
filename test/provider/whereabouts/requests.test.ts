import { isIpamError } from 'ipam-kit/errors'
import { add, check, del, gc, status } from 'ipam-kit/provider/whereabouts'
import { describe, expect, test } from 'vitest'
import { World } from './world.js'

const right = { ...new World().request({ range: '10.0.0.0/24' }), nodeName: 'n1' }
const tasks = { add, del, check, gc, status } as { readonly [name: string]: (request: never) => unknown }

/** What the task says of a request with these members. */
function refusalOf(task: string, members: object): string {
  try {
    tasks[task]?.({ ...right, ...members } as never)
    return 'accepted'
  } catch (error) {
    if (!isIpamError(error, 'INVALID_ARGUMENT')) return String(error)
    return error.message.replace(/^INVALID_ARGUMENT: /, '')
  }
}

describe.each(Object.keys(tasks))('the request of %s', (task) => {
  test('is accepted as it should be', () => {
    expect(refusalOf(task, {})).toBe('accepted')
    expect(refusalOf(task, { namespace: '' })).toBe('accepted')
  })

  test.each<[object, string]>([
    [{ config: {} }, 'config.ranges: expected a list, got undefined'],
    [{ config: 'x' }, 'config: expected an object'],
    [{ config: { ...right.config, ranges: [{}] } }, 'config.ranges[0].prefix: expected an address with a length'],
    [{ config: { ...right.config, gateway: '10.0.0.1' } }, 'config.gateway: expected an address'],
    [{ config: { ...right.config, asked: [{ address: '10.0.0.1' }] } }, 'config.asked[0].address: expected an address'],
    [{ config: { ...right.config, addresses: ['10.0.0.1/24'] } }, 'config.addresses[0]: expected an object'],
    [{ config: { ...right.config, claim: { name: 5 } } }, 'config.claim.name: expected a text, got 5'],
    [{ namespace: 'a/b' }, 'namespace: expected the name of a namespace, or an empty text, got the text "a/b"'],
    [{ nodeName: 5 }, 'nodeName: expected'],
  ])('with %o is refused', (members, refusal) => {
    expect(refusalOf(task, members)).toContain(`${task}: argument request.${refusal}`)
  })
})

describe.each(['add', 'del', 'check'])('the interface of %s', (task) => {
  test.each<[object, string]>([
    [{ containerId: '' }, 'containerId: expected the id of a container, got the text ""'],
    [{ containerId: 'a b' }, 'containerId: expected the id of a container'],
    [{ ifname: '' }, 'ifname: expected the name of an interface, got the text ""'],
    [{ ifname: 'a/b' }, 'ifname: expected the name of an interface'],
    [{ podName: 'a/b' }, 'podName: expected the name of a Pod, got the text "a/b"'],
    [{ podName: 'A' }, 'podName: expected the name of a Pod'],
    [{ podNamespace: 'a.b' }, 'podNamespace: expected the name of a namespace, got the text "a.b"'],
    [{ podNamespace: undefined }, 'podNamespace: expected the name of a namespace, got undefined'],
  ])('with %o is refused', (members, refusal) => {
    expect(refusalOf(task, members)).toContain(`${task}: argument request.${refusal}`)
  })
})

test('a Pod is needed by ADD and CHECK: rows name it. A DEL goes without', () => {
  for (const task of ['add', 'check']) {
    expect(refusalOf(task, { podName: '' })).toContain('podName: expected the name of a Pod, got the text ""')
    expect(refusalOf(task, { podNamespace: '' })).toContain('podNamespace: expected the name of a namespace')
  }
  expect(refusalOf('del', { podName: '', podNamespace: '' })).toBe('accepted')
})

test('CHECK takes addresses, and no texts', () => {
  expect(refusalOf('check', { addresses: ['10.0.0.1'] })).toContain(
    'check: argument request.addresses[0]: expected an address',
  )
})

test('GC needs the Node, and lists of interfaces', () => {
  expect(refusalOf('gc', { nodeName: '' })).toContain('nodeName: expected the name of a Node')
  expect(refusalOf('gc', { valid: ['c1'] })).toContain('valid[0]: expected an object')
  expect(refusalOf('gc', { record: [{ containerId: 'c1', ifname: 'net1', network: 'lab' }] })).toContain(
    'record[0].addedMs: expected a number',
  )
})

test('a DEL of a container without rows names it', async () => {
  expect(await new World().run(del(right))).toEqual({ kind: 'nothing', message: 'container p1 has no row' })
})
