import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { PGlite } from '@electric-sql/pglite'
import type { Meta } from 'ipam-kit/crd'
import { IPDomain } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import { migratePostgres, postgresStore } from 'ipam-kit/store/postgres'
import { beforeEach, describe, expect, test } from 'vitest'
import { kinds as blocksKinds } from '../../docs/examples/demo/blocks/cast.js'
import { runDemo } from '../../docs/examples/demo/run.js'
import type { Load } from '../../docs/examples/open-store.js'
import { API_VERSION } from '../../src/crd/ipam-kit/names.js'
import { some } from '../setup/depth.js'
import { emptyDatabase } from '../setup/pglite.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
let database: PGlite

beforeEach(async () => {
  database = await emptyDatabase()
})

/** A database that outlives the run. */
const load: Load = async <T>() =>
  ({
    PGlite: {
      create: async () => ({
        query: (text: string, values?: unknown[]) => database.query(text, values),
        close: async () => {},
      }),
    },
  }) as T

async function demo(args: readonly string[], stdin: readonly object[] = []) {
  let [out, err] = ['', '']
  const status = await runDemo(args, {
    folder: root,
    stdin: Readable.from([stdin.map((each) => JSON.stringify(each)).join('\n---\n')]),
    out: (text) => (out += text),
    err: (text) => (err += text),
    isTerminal: false,
    load,
  })
  return { status, out, err }
}

/**
 * Where the objects are: in memory each run begins with nothing, in the database it finds what the
 * last one left.
 */
const STORES = { memory: 'memory', lasting: 'pglite:x' }

/** What a run says to each of these manifests, and to a deletion. */
async function said(store: string, manifests: readonly object[], ...deletions: readonly string[]) {
  const flags = deletions.flatMap((target) => ['--delete', target])
  const { out, err, status } = await demo(['--store', store, '-f', '-', '-o', 'json', ...flags], manifests)
  const { refused, claims } = JSON.parse(out) as {
    readonly refused: readonly { readonly object: string; readonly reason: string }[]
    readonly claims: readonly { readonly name: string; readonly phase: string; readonly address: string | null }[]
  }
  const warnings = [...err.matchAll(/^ *\S+: (.*): Warning: (.*)$/gm)].map(([, object, text]) => `${object}: ${text}`)
  return { refused: refused.map(({ object, reason }) => `${object}: ${reason}`), warnings, status, claims, err }
}

const group = 'ipam.cluster.x-k8s.io'
const denied = (kind: string, message: string) =>
  `admission webhook "validation.${kind.toLowerCase()}.${group}" denied the request: ${message}`

type Change = { readonly metadata?: object; readonly spec?: object }

const poolRef = (kind = 'InClusterIPPool', name = 'lab') => ({ apiGroup: group, kind, name })

function claim(name: string, { metadata, spec }: Change = {}) {
  return {
    apiVersion: `${group}/v1beta2`,
    kind: 'IPAddressClaim',
    metadata: { name, ...metadata },
    spec: { poolRef: poolRef(), ...spec },
  }
}

function address(name: string, { metadata, spec }: Change = {}) {
  return {
    apiVersion: `${group}/v1beta2`,
    kind: 'IPAddress',
    metadata: { name, ...metadata },
    spec: { claimRef: { name }, poolRef: poolRef(), address: '10.0.0.12', prefix: 24, gateway: '10.0.0.1', ...spec },
  }
}

const SPECS: { readonly [kind: string]: object } = {
  IPPool: { addresses: ['10.0.0.10-10.0.0.12'], prefix: 24, gateway: '10.0.0.1' },
  PrefixPool: { prefixes: ['fd00::/56'], allocationPrefixLength: 64 },
}

function pool(kind: string, { metadata, spec }: Change = {}) {
  return {
    apiVersion: `${group}/v1alpha2`,
    kind,
    metadata: { name: 'lab', ...metadata },
    spec: { ...SPECS[kind.replace(/^(Global)?InCluster/, '')], ...spec },
  }
}

const ADDRESS_POOLS = ['InClusterIPPool', 'GlobalInClusterIPPool']
const PREFIX_POOLS = ['InClusterPrefixPool', 'GlobalInClusterPrefixPool']
const shown = (kind: string, name = 'lab') => `${kind} ${kind.startsWith('Global') ? '' : 'default/'}${name}`

interface Try {
  readonly what: string
  /** What is in the store before. */
  readonly before?: readonly object[]
  readonly asked: readonly object[]
  readonly deleted?: string
  readonly refused?: string
  readonly warned?: string
}

const lab = pool('InClusterIPPool')
const misspelt = { spec: { excludedAddreses: ['10.0.0.11'] } }
const didYouMean = 'unknown field "spec.excludedAddreses", did you mean "excludedAddresses"?'

const creations: readonly Try[] = [
  { what: 'an IPAddressClaim', asked: [claim('web-0')] },
  {
    what: 'an IPAddressClaim with an unknown field',
    asked: [claim('web-0', { spec: { clusterNam: 'c1' } })],
    warned: 'IPAddressClaim default/web-0: unknown field "spec.clusterNam", did you mean "clusterName"?',
  },
  { what: 'an IPAddress', asked: [address('web-0')] },
  {
    what: 'an IPAddress that is none',
    asked: [address('web-0', { spec: { address: '10.0.0.300' } })],
    refused: `IPAddress default/web-0: ${denied('IPAddress', 'spec.address: Invalid value: "10.0.0.300": not a valid IP address')}`,
  },
  {
    what: 'an IPAddress with a prefix of another family',
    asked: [address('web-0', { spec: { prefix: 64 } })],
    refused: `IPAddress default/web-0: ${denied('IPAddress', 'spec.prefix: Invalid value: 64: prefix is too large for an IPv4 address')}`,
  },
  { what: 'an IPAddress of the pool of its claim', asked: [claim('web-0'), address('web-0')] },
  {
    what: 'an IPAddress of another pool than its claim',
    asked: [claim('web-0'), address('web-0', { spec: { poolRef: poolRef('InClusterIPPool', 'red') } })],
    refused: `IPAddress default/web-0: ${denied('IPAddress', `spec.poolRef: Invalid value: {"name":"red","kind":"InClusterIPPool","apiGroup":"${group}"}: the referenced pool is different from the pool referenced by the claim this address should fulfill`)}`,
  },
  {
    what: 'an IPAddress with an unknown field',
    asked: [address('web-0', { spec: { gatway: '10.0.0.1' } })],
    warned: 'IPAddress default/web-0: unknown field "spec.gatway", did you mean "gateway"?',
  },
  ...ADDRESS_POOLS.flatMap((kind): Try[] => [
    { what: `an ${kind}`, asked: [pool(kind)] },
    {
      what: `an ${kind} with a prefix below 0`,
      asked: [pool(kind, { spec: { prefix: -1 } })],
      refused: `${shown(kind)}: ${denied(kind, `${kind}.${group} "lab" is invalid: spec.prefix: Invalid value: -1: a valid prefix is required`)}`,
    },
    {
      what: `an ${kind} with an unknown field`,
      asked: [pool(kind, misspelt)],
      warned: `${shown(kind)}: ${didYouMean}`,
    },
  ]),
  ...PREFIX_POOLS.flatMap((kind): Try[] => [
    { what: `an ${kind}`, asked: [pool(kind)] },
    {
      what: `an ${kind} without prefixes`,
      asked: [pool(kind, { spec: { prefixes: [] } })],
      refused: `${shown(kind)}: ${denied(kind, `${kind}.${group} "lab" is invalid: spec.prefixes: Invalid value: []string{}: prefixes is required`)}`,
    },
    {
      what: `an ${kind} of single addresses`,
      asked: [pool(kind, { spec: { prefixes: ['fd00::/120'], allocationPrefixLength: 128 } })],
      warned: `${shown(kind)}: spec.allocationPrefixLength=128 behaves like host-`,
    },
  ]),
]

const inUse = (kind: string): readonly object[] => [pool(kind), claim('web-0', { spec: { poolRef: poolRef(kind) } })]

const changes: readonly Try[] = [
  {
    what: 'a label of an IPAddressClaim',
    before: [lab, claim('web-0')],
    asked: [claim('web-0', { metadata: { labels: { a: '1' } } })],
  },
  {
    what: 'the pool of an IPAddressClaim',
    before: [lab, claim('web-0')],
    asked: [claim('web-0', { spec: { poolRef: poolRef('InClusterIPPool', 'red') } })],
    refused: `IPAddressClaim default/web-0: ${denied('IPAddressClaim', 'spec: Forbidden: IPAddressClaim spec is immutable. Diff: spec.poolRef.name: "lab" -> "red"')}`,
  },
  {
    what: 'a label of an IPAddress',
    before: [lab, claim('web-0')],
    asked: [address('web-0', { metadata: { labels: { a: '1' } }, spec: { address: '10.0.0.10' } })],
  },
  {
    what: 'the address of an IPAddress',
    before: [lab, claim('web-0')],
    asked: [address('web-0', { spec: { address: '10.0.0.11' } })],
    refused: `IPAddress default/web-0: ${denied('IPAddress', 'spec: Forbidden: IPAddress spec is immutable. Diff: spec.address: "10.0.0.10" -> "10.0.0.11"')}`,
  },
  ...ADDRESS_POOLS.flatMap((kind): Try[] => [
    {
      what: `the free addresses of an ${kind}`,
      before: inUse(kind),
      asked: [pool(kind, { spec: { addresses: ['10.0.0.10', '10.0.0.20'] } })],
    },
    {
      what: `the address in use of an ${kind}`,
      before: inUse(kind),
      asked: [pool(kind, { spec: { addresses: ['10.0.0.11-10.0.0.12'] } })],
      refused: `${shown(kind)}: ${denied(kind, 'pool addresses do not contain allocated addresses: [10.0.0.10-10.0.0.10]')}`,
    },
    {
      what: `the address in use of an ${kind} that is drained`,
      before: inUse(kind),
      asked: [
        pool(kind, {
          metadata: { annotations: { 'ipam-kit.dev/drain': '10.0.0.10' } },
          spec: { addresses: ['10.0.0.11-10.0.0.12'] },
        }),
      ],
      warned: `${shown(kind)}: in use, and not given again when their claims are gone: [10.0.0.10-10.0.0.10]`,
    },
  ]),
  ...PREFIX_POOLS.flatMap((kind): Try[] => [
    {
      what: `the prefixes of an ${kind}`,
      before: inUse(kind),
      asked: [pool(kind, { spec: { prefixes: ['fd00::/55'] } })],
    },
    {
      what: `the length of prefixes of an ${kind}`,
      before: inUse(kind),
      asked: [pool(kind, { spec: { allocationPrefixLength: 60 } })],
      refused: `${shown(kind)}: ${denied(kind, 'spec.allocationPrefixLength is immutable')}`,
    },
    {
      what: `a misspelt field of an ${kind}`,
      before: inUse(kind),
      asked: [pool(kind, { spec: { excludedPrefixs: [] } })],
      warned: `${shown(kind)}: unknown field "spec.excludedPrefixs", did you mean "excludedPrefixes"?`,
    },
  ]),
]

const path = (kind: string, name = 'lab') => `${kind}/${name}`
const deletions: readonly Try[] = [
  { what: 'an IPAddressClaim', asked: [lab, claim('web-0')], deleted: path('IPAddressClaim', 'web-0') },
  { what: 'an IPAddress', asked: [lab, claim('web-0')], deleted: path('IPAddress', 'web-0') },
  ...[...ADDRESS_POOLS, ...PREFIX_POOLS].flatMap((kind): Try[] => [
    { what: `an ${kind}`, asked: [pool(kind)], deleted: path(kind) },
    {
      what: `an ${kind} in use`,
      asked: inUse(kind),
      deleted: path(kind),
      refused: `${shown(kind)}: ${denied(kind, 'Pool has IPAddresses allocated. Cannot delete Pool until all IPAddresses have been removed.')}`,
    },
  ]),
]

const outcome = ({ refused, warned }: Try) =>
  refused === undefined ? (warned === undefined ? 'is admitted' : 'is admitted with a warning') : 'is refused'
const named = (tries: readonly Try[]) => tries.map((each) => ({ ...each, outcome: outcome(each) }))

async function expectAnswer(store: string, { asked, deleted, refused, warned }: Try) {
  const { refused: all, warnings, ...rest } = await said(store, asked, ...(deleted === undefined ? [] : [deleted]))
  expect(all).toEqual(refused === undefined ? [] : [refused])
  if (refused !== undefined) expect(rest.status).toBe(2)
  if (warned === undefined) expect(warnings).toEqual([])
  else expect(warnings).toEqual([expect.stringContaining(warned)])
  return rest
}

describe.each(Object.entries(STORES))('in a store of the kind %s', (_, store) => {
  const tried = (tries: readonly Try[]) => named(store === STORES.memory ? tries : some(tries))

  test.each(tried(creations))('creating $what $outcome', async (each) => {
    await expectAnswer(store, each)
  })

  test.each(tried(deletions))('deleting $what $outcome', async (each) => {
    await expectAnswer(store, each)
  })
})

describe('in a store that lasts', () => {
  test.each(named(changes))('changing $what $outcome', async (each) => {
    expect((await said(STORES.lasting, each.before ?? [])).refused).toEqual([])
    const { claims } = await expectAnswer(STORES.lasting, each)
    expect(claims.map(({ phase }) => phase)).toEqual(['Bound'])
  })
})

describe('in the scenario of blocks', () => {
  const blocks = ['--scenario', 'blocks', '--store', STORES.lasting, '-o', 'json']

  async function given(...objects: readonly Meta.KubeObject[]) {
    await migratePostgres(database)
    const options = { now: Date.now, uid: () => crypto.randomUUID(), kinds: blocksKinds, sleep: async () => {} }
    for (const object of objects) unwrap(await postgresStore(database, options).create(object))
  }

  async function surprises() {
    const { out } = await demo(blocks)
    return (JSON.parse(out).checks as readonly { readonly wrong: readonly string[] }[])[0]?.wrong
  }

  test('a pool on another grid than its domain is refused', async () => {
    const [ipv4, ipv6] = [
      { blockPrefixLength: 27, allocationPrefixLength: 32 },
      { blockPrefixLength: 124, allocationPrefixLength: 128 },
    ]
    await given(
      IPDomain.parse({ apiVersion: API_VERSION, kind: 'IPDomain', metadata: { name: 'demo' }, spec: { ipv4, ipv6 } }),
    )
    expect(await surprises()).toContain(
      'IPPool demo-blue refused: admission webhook "validation.ippool.ipam-kit.dev" denied the request: IPPool.ipam-kit.dev "demo-blue" is invalid: spec.ipv4.blockPrefixLength: Invalid value: 28: domain "demo" has 27',
    )
  })

  test('warnings of pools are told', async () => {
    const { err } = await demo(blocks)
    expect(err).toContain(
      'IPPool demo-red: Warning: has addresses in common with demo-blue: each address is allocated by one of them only\n',
    )
  })
})
