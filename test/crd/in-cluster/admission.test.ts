import { IPAddress } from 'ipam-kit/crd/cluster-api'
import { admitInClusterPool, DRAIN_ANNOTATION, type InClusterPool } from 'ipam-kit/crd/in-cluster'
import { describe, expect, test } from 'vitest'
import type { InClusterIPPoolSpec, InClusterPrefixPoolSpec } from '../../../src/crd/in-cluster/pools.js'

const address = (text: string, prefix = 24): IPAddress =>
  IPAddress.parse({
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddress',
    metadata: { name: 'x', namespace: 'default' },
    spec: {
      claimRef: { name: 'x' },
      poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'p' },
      address: text,
      prefix,
    },
  })

const poolOf = (spec: InClusterIPPoolSpec | InClusterPrefixPoolSpec, metadata: object = {}): InClusterPool =>
  ({
    apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
    kind: 'prefixes' in spec ? 'InClusterPrefixPool' : 'InClusterIPPool',
    metadata: { name: 'p', namespace: 'default', ...metadata },
    spec,
  }) as InClusterPool

const create = (spec: InClusterIPPoolSpec | InClusterPrefixPoolSpec) =>
  admitInClusterPool({ operation: 'CREATE', object: poolOf(spec) })

function refusal(spec: InClusterIPPoolSpec | InClusterPrefixPoolSpec): string {
  const admission = create(spec)
  return admission.allowed ? 'allowed' : admission.message
}

describe('creating a pool of addresses', () => {
  test.each<[string, InClusterIPPoolSpec]>([
    ['singles, ranges and CIDRs', { addresses: ['10.0.0.1', '10.0.0.3-10.0.0.5', '10.0.0.8/29'], prefix: 24 }],
    ['prefix 0', { addresses: ['10.0.0.10-10.0.0.20'], prefix: 0, gateway: '10.0.0.1' }],
    ['a gateway outside the subnet', { addresses: ['10.0.0.10'], prefix: 24, gateway: '192.168.9.1' }],
    ['exclusions outside the pool', { addresses: ['10.0.0.10'], prefix: 24, excludedAddresses: ['10.9.0.0/16'] }],
    ['a range with zones', { addresses: ['fe80::1%eth0-fe80::2%eth0'], prefix: 64 }],
    ['an empty gateway', { addresses: ['10.0.0.10'], prefix: 24, gateway: '' }],
    ['host bits', { addresses: ['10.0.0.77/26'], prefix: 24 }],
  ])('allows %s', (_, spec) => {
    expect(create(spec)).toEqual({ allowed: true, warnings: [] })
  })

  test.each<[InClusterIPPoolSpec, string]>([
    [{ addresses: [], prefix: 24 }, 'spec.addresses: Invalid value: []string{}: addresses is required'],
    [{ addresses: ['10.0.0.1'], prefix: -1 }, 'spec.prefix: Invalid value: -1: a valid prefix is required'],
    [
      { addresses: ['10.0.1'], prefix: 24 },
      'spec.addresses: Invalid value: "10.0.1": provided address is not a valid IP, range, nor CIDR',
    ],
    [
      { addresses: ['10.0.0.1', 'fd00::1'], prefix: 24 },
      'spec.addresses: Invalid value: []string{"10.0.0.1", "fd00::1"}: provided addresses are of mixed IP families',
    ],
    [
      { addresses: ['10.0.0.1'], prefix: 24, gateway: 'invalid' },
      'spec.gateway: Invalid value: "invalid": ParseAddr("invalid"): unable to parse IP',
    ],
    [
      { addresses: ['10.0.0.1'], prefix: 24, gateway: '10.0.0.1x' },
      'spec.gateway: Invalid value: "10.0.0.1x": ParseAddr("10.0.0.1x"): unexpected character (at "x")',
    ],
    [
      { addresses: ['10.0.0.1'], prefix: 24, gateway: 'fd00::1' },
      'spec.gateway: Invalid value: "fd00::1": provided gateway and addresses are of mixed IP families',
    ],
    [
      { addresses: ['10.0.0.1'], prefix: 24, excludedAddresses: ['nope'] },
      'spec.excludedAddresses: Invalid value: "nope": provided address is not a valid IP, range, nor CIDR',
    ],
    [
      { addresses: ['10.0.0.1'], prefix: 24, excludedAddresses: ['10.0.0.1', 'fd00::1'] },
      'spec.excludedAddresses: Invalid value: []string{"10.0.0.1", "fd00::1"}: provided addresses are of mixed IP families',
    ],
    [
      { addresses: ['10.0.0.1'], prefix: 24, excludedAddresses: ['fd00::1'] },
      'spec.excludedAddresses: Invalid value: []string{"fd00::1"}: addresses and excluded addresses are of mixed IP families',
    ],
    [
      { addresses: ['10.0.0.1'], prefix: 24, addressReuseGracePeriodSeconds: -5 },
      'spec.addressReuseGracePeriodSeconds: Invalid value: -5: addressReuseGracePeriodSeconds must not be negative',
    ],
    [{ addresses: ['10.0.0.1'], prefix: 33 }, 'spec.prefix: Invalid value: 33: provided prefix is not valid'],
    [
      { addresses: ['10.0.0.1-10.0.1.1'], prefix: 24 },
      'spec.addresses: Invalid value: "10.0.0.1-10.0.1.1": provided address belongs to a different subnet than others',
    ],
    [{ addresses: ['10.0.0.1'], prefix: 9999 }, 'spec.prefix: Invalid value: 9999: provided prefix is not valid'],
    [
      { addresses: ['10.0.1.0', '10.0.0.20-10.0.1.20'], prefix: 24 },
      'spec.addresses: Invalid value: "10.0.1.0": provided address belongs to a different subnet than others',
    ],
  ])('refuses %j', (spec, message) => {
    expect(refusal(spec)).toContain(message)
  })

  test('reports everything at once, in the sentence of the API server', () => {
    expect(refusal({ addresses: ['x', '10.0.0.1', 'y'], prefix: 24, gateway: 'z' })).toBe(
      'InClusterIPPool.ipam.cluster.x-k8s.io "p" is invalid: [' +
        'spec.addresses: Invalid value: "x": provided address is not a valid IP, range, nor CIDR, ' +
        'spec.addresses: Invalid value: "y": provided address is not a valid IP, range, nor CIDR, ' +
        'spec.gateway: Invalid value: "z": ParseAddr("z"): unable to parse IP]',
    )
  })

  test('reports everything in the order of upstream beside a negative prefix too', () => {
    const several = { addresses: ['x', '10.0.0.1'], prefix: -1, gateway: 'z', addressReuseGracePeriodSeconds: -5 }
    expect(refusal(several)).toBe(
      'InClusterIPPool.ipam.cluster.x-k8s.io "p" is invalid: [' +
        'spec.prefix: Invalid value: -1: a valid prefix is required, ' +
        'spec.addresses: Invalid value: "x": provided address is not a valid IP, range, nor CIDR, ' +
        'spec.gateway: Invalid value: "z": ParseAddr("z"): unable to parse IP, ' +
        'spec.addressReuseGracePeriodSeconds: Invalid value: -5: addressReuseGracePeriodSeconds must not be negative]',
    )
  })

  test('says the same thing once', () => {
    expect(refusal({ addresses: ['x', 'x'], prefix: 24 })).toBe(
      'InClusterIPPool.ipam.cluster.x-k8s.io "p" is invalid: ' +
        'spec.addresses: Invalid value: "x": provided address is not a valid IP, range, nor CIDR',
    )
  })

  test('quotes hostile text as Go does', () => {
    expect(refusal({ addresses: ['10.0.0.1\n\u0007"\u202e'], prefix: 24 })).toContain('"10.0.0.1\\n\\a\\"\\u202e"')
  })
})

describe('changing a pool of addresses', () => {
  const update = (spec: InClusterIPPoolSpec, inUse: readonly string[]) =>
    admitInClusterPool({
      operation: 'UPDATE',
      object: poolOf(spec),
      oldObject: poolOf({ addresses: ['10.0.0.0/24'], prefix: 24 }),
      inUse: inUse.map((text) => address(text)),
    })

  test('is allowed while every address in use stays in it', () => {
    expect(update({ addresses: ['10.0.0.10-10.0.0.12'], prefix: 24 }, ['10.0.0.10', 'not-an-ip']).allowed).toBe(true)
  })

  test.each<[string, InClusterIPPoolSpec]>([
    ['excluded', { addresses: ['10.0.0.0/24'], prefix: 24, excludedAddresses: ['10.0.0.10/31', '10.0.0.15'] }],
    ['left out', { addresses: ['10.0.0.16/28'], prefix: 24 }],
  ])('is refused when some are %s, as ranges', (_, spec) => {
    expect(update(spec, ['10.0.0.11', '10.0.0.10', '10.0.0.15'])).toMatchObject({
      allowed: false,
      code: 400,
      message: 'pool addresses do not contain allocated addresses: [10.0.0.10-10.0.0.11 10.0.0.15-10.0.0.15]',
    })
  })

  test('knows an address in use that was written with a zone', () => {
    const zoned = admitInClusterPool({
      operation: 'UPDATE',
      object: poolOf({ addresses: ['fe80::2'], prefix: 64 }),
      oldObject: poolOf({ addresses: ['fe80::1-fe80::2'], prefix: 64 }),
      inUse: [address('fe80::1%eth0', 64)],
    })
    expect(zoned).toMatchObject({ message: 'pool addresses do not contain allocated addresses: [fe80::1-fe80::1]' })
  })

  test('is refused when one becomes the gateway or the broadcast address', () => {
    expect(update({ addresses: ['10.0.0.0/24'], prefix: 24, gateway: '10.0.0.10' }, ['10.0.0.10']).allowed).toBe(false)
    expect(update({ addresses: ['10.0.0.0/28'], prefix: 28 }, ['10.0.0.15']).allowed).toBe(false)
  })
})

describe('a change that drains addresses in use', () => {
  const drain = ([before, after]: readonly [object, object], annotation: string, inUse: readonly IPAddress[]) => {
    const oldObject = poolOf(before as InClusterIPPoolSpec)
    const object = poolOf(after as InClusterIPPoolSpec, { annotations: { [DRAIN_ANNOTATION]: annotation } })
    return admitInClusterPool({ operation: 'UPDATE', object, oldObject, inUse })
  }
  const meansNothing = expect.stringContaining(`metadata.annotations[${DRAIN_ANNOTATION}] means nothing`)
  const pools = { addresses: ['10.0.0.2-10.0.0.9'], prefix: 24 }
  const prefixes = { prefixes: ['2001:db8::/56'], allocationPrefixLength: 64 }

  test.each([
    ['addresses in use', [pools, { ...pools, addresses: ['10.0.0.5-10.0.0.9'] }], address('10.0.0.2')],
    ['prefixes in use', [prefixes, { ...prefixes, prefixes: ['2001:db8:1::/56'] }], address('2001:db8::', 64)],
    ['a spec that is invalid', [pools, { ...pools, addresses: ['nothing'] }], address('10.0.0.2')],
    ['another prefix length', [prefixes, { ...prefixes, allocationPrefixLength: 60 }], address('2001:db8::', 64)],
  ] as const)('says beside the refusal of %s that it cannot be read', (_, specs, inUse) => {
    const refused = drain(specs, '10.0.0.2-10.0.0.300', [inUse])
    expect(refused).toMatchObject({ allowed: false, warnings: [meansNothing] })
    expect(drain(specs, '', [inUse])).toMatchObject({ allowed: false })
    expect(drain(specs, '', [inUse]).warnings ?? []).toEqual([])
  })

  test('says that it cannot be read where nothing is refused, too', () => {
    expect(drain([pools, pools], '10.0.0.300', [])).toEqual({ allowed: true, warnings: [meansNothing] })
  })

  test('names some of the ranges of addresses in the warning, and how many more there are', () => {
    const inUse = Array.from({ length: 40_000 }, (_, i) =>
      address(`10.${i >> 15}.${(i >> 7) & 255}.${(i & 127) * 2}`, 8),
    )
    const specs = [
      { addresses: ['10.0.0.0/8'], prefix: 8 },
      { addresses: ['10.200.0.0/16'], prefix: 8 },
    ] as const
    const { allowed, warnings } = drain(specs, '10.0.0.0/8', inUse)
    expect(allowed).toBe(true)
    expect(warnings).toEqual([
      'in use, and not given again when their claims are gone: [10.0.0.0-10.0.0.0 10.0.0.2-10.0.0.2 10.0.0.4-10.0.0.4 10.0.0.6-10.0.0.6 10.0.0.8-10.0.0.8 39995 more]',
    ])
  })

  test('names some of the prefixes in the warning, and how many more there are', () => {
    const inUse = Array.from({ length: 200 }, (_, i) => address(`2001:db8:0:${i.toString(16)}::`, 64))
    const { allowed, warnings } = drain(
      [prefixes, { ...prefixes, prefixes: ['2001:db8:1::/56'] }],
      '2001:db8::/56',
      inUse,
    )
    expect([allowed, warnings?.length]).toEqual([true, 1])
    expect(warnings?.[0]).toMatch(/: \[(2001:db8:0:\w+:: ){5}195 more\]$/)
  })
})

describe('deleting a pool', () => {
  const pool = { addresses: ['10.0.0.0/24'], prefix: 24 }
  const remove = (inUse: readonly IPAddress[], annotations?: { readonly [key: string]: string }) =>
    admitInClusterPool({ operation: 'DELETE', oldObject: poolOf(pool, annotations ? { annotations } : {}), inUse })

  test('is refused while it has addresses', () => {
    expect(remove([address('10.0.0.1')])).toMatchObject({
      allowed: false,
      message: 'Pool has IPAddresses allocated. Cannot delete Pool until all IPAddresses have been removed.',
    })
    expect(remove([]).allowed).toBe(true)
  })

  test('is allowed with the annotation that clusterctl move sets', () => {
    const annotations = { 'ipam.cluster.x-k8s.io/skip-validate-delete-webhook': '' }
    expect(remove([address('10.0.0.1')], annotations).allowed).toBe(true)
  })
})

describe('a pool of prefixes', () => {
  test.each<[InClusterPrefixPoolSpec, string]>([
    [{ prefixes: [] }, 'prefixes is required'],
    [
      { prefixes: ['fd00::/48'], allocationPrefixLength: 129 },
      'Invalid value: 129: allocationPrefixLength must be between 1 and 128',
    ],
    [{ prefixes: ['fd00::1'] }, 'provided entry is not a valid IPv6 CIDR'],
    [{ prefixes: ['10.0.0.0/24'] }, 'only IPv6 prefixes are supported'],
    [{ prefixes: ['fd00::1/62'] }, 'CIDR must be network-aligned'],
    [{ prefixes: ['fd00::/65'] }, 'CIDR prefix length must be <= allocationPrefixLength (64)'],
    [{ prefixes: ['fd00::/62'], gateway: '10.0.0.1' }, 'provided gateway must be IPv6'],
    [
      { prefixes: ['fd00::/62'], excludedPrefixes: ['x'] },
      'spec.excludedPrefixes: Invalid value: "x": provided entry is not a valid IP',
    ],
    [{ prefixes: ['fd00::/62'], excludedPrefixes: ['10.0.0.1'] }, 'only IPv6 excluded prefixes are supported'],
    [{ prefixes: ['fd00::/62'], addressReuseGracePeriodSeconds: -1 }, 'must not be negative'],
  ])('is refused: %j', (spec, message) => {
    expect(refusal(spec)).toContain(message)
  })

  test('warns where it hands out single addresses', () => {
    const admission = create({ prefixes: ['fd40::/64'], allocationPrefixLength: 128, gateway: 'fd40::1' })
    expect(admission.allowed && admission.warnings).toHaveLength(2)
    expect(create({ prefixes: ['fd40::/64'], gateway: 'fd40::1' })).toEqual({ allowed: true, warnings: [] })
  })

  test('keeps its length, and the prefixes in use', () => {
    const update = (spec: InClusterPrefixPoolSpec) =>
      admitInClusterPool({
        operation: 'UPDATE',
        object: poolOf(spec),
        oldObject: poolOf({ prefixes: ['fd30::/62'] }),
        inUse: [address('fd30::', 64)],
      })
    expect(update({ prefixes: ['fd30::/62'], allocationPrefixLength: 72 })).toMatchObject({
      message: 'spec.allocationPrefixLength is immutable',
    })
    expect(update({ prefixes: ['fd30::/62'], excludedPrefixes: ['fd30::5'] })).toMatchObject({
      message: 'existing allocations become non-allocatable: [fd30::]',
    })
    const unreadable = (prefixes: readonly string[]) =>
      admitInClusterPool({
        operation: 'UPDATE',
        object: poolOf({ prefixes }),
        oldObject: poolOf({ prefixes: ['fd30::/62'] }),
        inUse: [address('garbage', 64)],
      })
    expect(unreadable(['fd30::/61'])).toMatchObject({
      message: 'existing allocations become non-allocatable: [garbage]',
    })
    expect(unreadable(['fd30::/62']).allowed).toBe(true)
    expect(update({ prefixes: ['fd30::/61'], allocationPrefixLength: 64 }).allowed).toBe(true)
  })
})

describe('pools of IPv4 prefixes, where they are admitted', () => {
  const admit = (spec: InClusterPrefixPoolSpec) =>
    admitInClusterPool({ operation: 'CREATE', object: poolOf(spec) }, { ipv4Prefixes: true })
  const causes = (spec: InClusterPrefixPoolSpec) => {
    const admission = admit(spec)
    return admission.allowed ? [] : admission.errors.map(({ path, detail }) => `${path}: ${detail}`)
  }
  const pool = { prefixes: ['10.0.0.0/16', '10.4.0.0/20'], allocationPrefixLength: 24 }

  test('are none unless it is asked for', () => {
    expect(refusal({ ...pool })).toContain('only IPv6 prefixes are supported')
    expect(admit(pool)).toEqual({ allowed: true, warnings: [] })
    expect(admit({ ...pool, gateway: '10.9.9.9', excludedPrefixes: ['10.0.7.0/24', '10.0.9.1-10.0.9.3'] })).toEqual({
      allowed: true,
      warnings: [],
    })
  })

  test.each<[string, Partial<InClusterPrefixPoolSpec>, string[]]>([
    [
      'both families',
      { prefixes: ['10.0.0.0/16', 'fd00::/16'] },
      ['spec.prefixes: provided prefixes are of mixed IP families'],
    ],
    [
      'IPv4 behind IPv6',
      { prefixes: ['fd00::/16', '10.0.0.0/16'] },
      ['spec.prefixes: provided prefixes are of mixed IP families'],
    ],
    [
      'no length of its own',
      { allocationPrefixLength: 0 },
      ['spec.allocationPrefixLength: allocationPrefixLength must be between 1 and 32 for IPv4 prefixes'],
    ],
    [
      'a length of IPv6',
      { allocationPrefixLength: 33 },
      ['spec.allocationPrefixLength: allocationPrefixLength must be between 1 and 32 for IPv4 prefixes'],
    ],
    ['host bits', { prefixes: ['10.0.0.1/16'] }, ['spec.prefixes: CIDR must be network-aligned']],
    [
      'parents that are too small',
      { prefixes: ['10.0.0.0/25'] },
      ['spec.prefixes: CIDR prefix length must be <= allocationPrefixLength (24)'],
    ],
    [
      'a text that is none',
      { prefixes: ['10.0.0.0/24', 'ten'] },
      ['spec.prefixes: provided entry is not a valid CIDR'],
    ],
    [
      'a gateway of the other family',
      { gateway: 'fd00::1' },
      ['spec.gateway: provided gateway and prefixes are of mixed IP families'],
    ],
    [
      'exclusions of the other family',
      { excludedPrefixes: ['fd00::/64'] },
      ['spec.excludedPrefixes: prefixes and excluded prefixes are of mixed IP families'],
    ],
  ])('are refused with %s', (_, change, expected) => {
    expect(causes({ ...pool, ...change })).toEqual(expected)
  })

  test('of single addresses bring the warnings of /128', () => {
    const admission = admit({ prefixes: ['10.0.0.0/24'], allocationPrefixLength: 32, gateway: '10.0.0.1' })
    expect(admission.allowed && admission.warnings).toEqual([
      'spec.allocationPrefixLength=32 behaves like host-address allocation; consider InClusterIPPool for single-address semantics',
      'spec.gateway is within spec.prefixes and is not reserved; with /32 allocationPrefixLength it may also be allocated to claims',
    ])
  })

  test('pools of IPv6 prefixes are as before', () => {
    for (const spec of [
      { prefixes: ['fd00::/48'] },
      { prefixes: ['fd00::/48'], allocationPrefixLength: 129 },
      { prefixes: ['fd00::1/48'] },
      { prefixes: ['fd00::/48'], allocationPrefixLength: 128, gateway: 'fd00::1' },
    ]) {
      expect(admit(spec)).toEqual(create(spec))
    }
  })
})
