import { Address } from 'ipam-kit/cidr'
import { readNetworkSelection } from 'ipam-kit/crd/multinet'
import { describe, expect, test } from 'vitest'

const read = (annotation: string) => {
  const result = readNetworkSelection(annotation, 'default')
  if (!result.ok) throw new Error(result.failure.message)
  return result.value
}
const failure = (annotation: string) => {
  const result = readNetworkSelection(annotation, 'default')
  return result.ok ? undefined : result.failure
}
const json = (...elements: unknown[]) => JSON.stringify(elements)

describe('the short form', () => {
  test('names networks, with a namespace and an interface', () => {
    const found = read(' blue, lab/green@net1 ,x.y@eth-0')
    expect(found.map(({ namespace, name, interface: ifname }) => [namespace, name, ifname])).toEqual([
      ['default', 'blue', undefined],
      ['lab', 'green', 'net1'],
      ['default', 'x.y', 'eth-0'],
    ])
    expect(found[1]).toEqual({
      namespace: 'lab',
      name: 'green',
      interface: 'net1',
      ips: [],
      portMappings: [],
      defaultRoute: [],
      stored: { namespace: 'lab', name: 'green', interface: 'net1' },
    })
  })

  test('of an empty text is an empty list', () => {
    expect([read(''), read(' \n')]).toEqual([[], []])
  })

  test.each([
    ['a/b/c', 0, 'not of the form'],
    ['a@b@c', 0, 'not of the form'],
    ['a,,b', 2, 'the name '],
    ['a, ', 3, 'the name '],
    ['/a', 0, 'the namespace '],
    ['lab/', 0, 'the name '],
    ['Blue', 0, 'the name '],
    ['a_b', 0, 'the name '],
    ['a@', 0, 'the interface '],
    ['good, b@a-name-of-16-char', 6, 'the interface '],
    ['a@n/1', 0, 'not of the form'],
    ['a@n:1', 0, 'the interface '],
    ['a@..', 0, 'the interface '],
  ])('%j is refused at %i', (text, position, problem) => {
    expect(failure(text)).toEqual({
      code: 'MALFORMED_NETWORK_SELECTION',
      context: { text, position, problem: expect.stringContaining(problem) },
    })
  })
})

describe('the JSON form', () => {
  test('has all members of the standard', () => {
    const element = {
      name: 'blue',
      namespace: 'lab',
      interface: 'net1',
      ips: ['10.0.0.7/24', 'FD00::0007', '10.0.0.8'],
      mac: '02:00:00:00:00:07',
      'infiniband-guid': 'c2:11:22:33:44:55:66:77',
      portMappings: [{ hostPort: 8080, containerPort: 80, protocol: 'tcp' }],
      bandwidth: { ingressRate: 1000, ingressBurst: 10 },
      'cni-args': { owner: 'vm-0', deep: { a: null } },
      'default-route': ['10.0.0.1'],
      'ipam-claim-reference': 'vm1.blue',
      later: true,
    }
    const [found] = read(json(element))
    expect(found).toEqual({
      name: 'blue',
      namespace: 'lab',
      interface: 'net1',
      ips: [
        { address: Address.parse('10.0.0.7'), prefixLength: 24 },
        { address: Address.parse('fd00::7') },
        { address: Address.parse('10.0.0.8') },
      ],
      mac: '02:00:00:00:00:07',
      infinibandGuid: 'c2:11:22:33:44:55:66:77',
      portMappings: [{ hostPort: 8080, containerPort: 80, protocol: 'tcp' }],
      bandwidth: { ingressRate: 1000, ingressBurst: 10 },
      cniArgs: { owner: 'vm-0', deep: {} },
      defaultRoute: [Address.parse('10.0.0.1')],
      ipamClaimReference: 'vm1.blue',
      stored: { ...element, 'cni-args': { owner: 'vm-0', deep: {} } },
    })
  })

  test('takes null and an empty text as a member that is left out', () => {
    const [found] = read(json({ name: 'blue', namespace: '', mac: '', ips: null, 'ipam-claim-reference': '' }))
    expect(found).toMatchObject({ name: 'blue', namespace: 'default', ips: [] })
    expect(Object.keys(found!).sort()).toEqual(['defaultRoute', 'ips', 'name', 'namespace', 'portMappings', 'stored'])
  })

  test.each([
    [json({}), ['[0].name']],
    [json({ name: 'a' }, 5), ['[1]']],
    [json({ name: 'a', ips: ['10.0.0.1', '10.0.0.256', 'x/24'] }), ['[0].ips[1]', '[0].ips[2]']],
    [json({ name: 'a' }, { name: 'b', mac: '02:00' }), ['[1].mac']],
    [json({ name: 'a', 'default-route': ['10.0.0.1/24'] }), ['[0].default-route[0]']],
    [json({ name: 'a', portMappings: [{ hostPort: 65_536, containerPort: 1 }] }), ['[0].portMappings[0].hostPort']],
    [json({ name: 'A', namespace: 'x.y', interface: 'a b' }), ['[0].name', '[0].namespace', '[0].interface']],
    [json({ name: 'a', 'ipam-claim-reference': 'A_b' }), ['[0].ipam-claim-reference']],
    ['{"name":"a"}', ['']],
    ['"a"', ['']],
  ])('%s is refused in %j', (text, paths) => {
    const found = failure(text)
    expect(found).toMatchObject({
      code: 'INVALID_OBJECT',
      context: { kind: 'annotation', name: 'k8s.v1.cni.cncf.io/networks' },
    })
    expect(found?.code === 'INVALID_OBJECT' && found.context.issues.map(({ path }) => path)).toEqual(paths)
  })

  test.each(['[', '[{"name":"a"}', 'a,{}', '{}x'])('%j is not JSON', (text) => {
    expect(failure(text)).toMatchObject({ code: 'MALFORMED_EMBEDDED_JSON', context: { text } })
  })
})
