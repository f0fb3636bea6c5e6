import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { surprises } from '../../docs/examples/demo/in-cluster/examples.js'
import { runDemo } from '../../docs/examples/demo/run.js'
import { isDeep } from '../setup/depth.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'demo-'))
})

afterAll(() => rm(folder, { recursive: true }))

interface Ended {
  readonly status: number
  readonly out: string
  readonly err: string
}

/**
 * Runs the program in this process, with file names relative to `folder` unless another is given.
 */
async function demo(args: readonly string[], input: { readonly stdin?: string; readonly in?: string } = {}) {
  let [out, err] = ['', '']
  const status = await runDemo(args, {
    folder: input.in ?? folder,
    stdin: Readable.from([input.stdin ?? '']),
    out: (text) => (out += text),
    err: (text) => (err += text),
    isTerminal: false,
  })
  return { status, out, err } satisfies Ended
}

/** Runs it as a user does. */
function demoProcess(args: readonly string[]): Promise<Ended> {
  const command = ['--import', 'tsx', 'docs/examples/demo/main.ts', ...args]
  return new Promise((resolve) => {
    execFile(process.execPath, command, { cwd: root }, (error, out, err) => {
      resolve({ status: error === null ? 0 : Number(error.code), out, err })
    })
  })
}

async function write(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text)
  return name
}

/** What a run says of manifests on standard input. */
async function demoOf(manifests: readonly object[] | string, ...args: string[]) {
  const stdin =
    typeof manifests === 'string' ? manifests : manifests.map((each) => JSON.stringify(each)).join('\n---\n')
  return demo(['-f', '-', ...args], { stdin })
}

/** The same as a document. */
async function resultOf(manifests: readonly object[] | string, ...args: string[]) {
  const { out, ...rest } = await demoOf(manifests, '-o', 'json', ...args)
  return { ...rest, ...(JSON.parse(out) as Result) }
}

interface Result {
  readonly claims: readonly { readonly namespace: string; readonly name: string; readonly [field: string]: unknown }[]
  readonly pools: readonly { readonly [field: string]: unknown }[]
  readonly refused: readonly { readonly [field: string]: unknown }[]
  readonly summary: { readonly [field: string]: number }
}

const group = 'ipam.cluster.x-k8s.io'

function claim(name: string, pool: string, more: { readonly [field: string]: unknown } = {}) {
  const [kind = '', poolName = ''] = pool.split('/')
  const { spec = {}, metadata = {} } = more as { readonly spec?: object; readonly metadata?: object }
  return {
    apiVersion: `${group}/v1beta2`,
    kind: 'IPAddressClaim',
    metadata: { name, ...metadata },
    spec: { ...spec, poolRef: { apiGroup: group, kind, name: poolName } },
  }
}

function pool(name: string, spec: object, kind = 'InClusterIPPool') {
  return { apiVersion: `${group}/v1alpha2`, kind, metadata: { name }, spec }
}

const lab = pool('lab', { addresses: ['10.0.0.10-10.0.0.12'], prefix: 24, gateway: '10.0.0.1' })
const web = (n: number) => claim(`web-${n}`, 'InClusterIPPool/lab')

/** What claims have, in the order of the report. */
function addressesOf({ claims }: Result): string[] {
  return claims.map(({ name, phase, reason, address }) => `${name}: ${address ?? `${phase} ${reason}`}`)
}

describe('the examples of the project', () => {
  test('come to what they are meant to', async () => {
    const { status, out, err } = await demo(['-v'], { in: root })
    expect(err).toBe('')
    await expect(out).toMatchFileSnapshot('__snapshots__/demo.txt')
    expect(status).toBe(0)
  })

  test('look the same from a process of their own, and every time', async () => {
    const first = await demoProcess([])
    expect(await demo([], { in: root })).toEqual(first)
    if (isDeep) expect(await demoProcess([])).toEqual(first)
  })

  test('are not all bound: as files like any other they fail', async () => {
    const { status, out } = await demo(['-f', 'docs/examples/manifests'], { in: root })
    expect(out).toContain('16 claims: 13 bound, 1 pending, 1 error, 1 ignored')
    expect(status).toBe(2)
  })

  test('are missed if they come to something else', () => {
    const missed = surprises({ claims: [], pools: [] }, [])
    expect(missed).toEqual([
      'no claim factory/blue-1',
      'no claim office/vip',
      'InClusterIPPool office/mistyped is not refused',
    ])
    const waiting = { namespace: 'office', name: 'printer-2', pool: 'P/p', phase: 'Error', reason: 'X' } as const
    const rest = { address: null, prefix: null, gateway: null, message: null }
    const refusal = { action: 'refused', where: 'a.yaml:1', reason: 'no' } as const
    expect(surprises({ claims: [{ ...waiting, ...rest }], pools: [] }, [refusal])).toEqual(
      expect.arrayContaining([
        'claim office/printer-2 is Error, not bound',
        'IPAddressClaim office/printer-2 is still there',
        'a mistake in a.yaml:1',
      ]),
    )
  })
})

describe('the samples of the upstream project', () => {
  const samples = join(root, '../shared/upstream-samples/in-cluster')
  // the same manifests in our words: the samples are not part of the repository
  const spec = {
    addresses: ['10.0.0.2-10.0.0.254'],
    prefix: 24,
    gateway: '10.0.0.1',
    excludedAddresses: ['10.0.0.3-10.0.1.6', '10.0.0.10', '10.0.0.192/26'],
  }
  const own = [
    { ...claim('my-claim', 'InClusterIPPool/inclusterippool-sample'), apiVersion: `${group}/v1beta1` },
    pool('globalinclusterippool-sample', spec, 'GlobalInClusterIPPool'),
    pool('inclusterippool-sample', spec),
  ]

  test('bind as they are', async () => {
    const inline = await write('samples.json', JSON.stringify(listOf(own)))
    for (const files of existsSync(samples) ? [inline, samples] : [inline]) {
      const { status, out } = await demo(['-f', files])
      expect(out).toMatch(
        /^ {2}default +my-claim +InClusterIPPool\/inclusterippool-sample +Bound .* 10\.0\.0\.2 +24 +10\./m,
      )
      expect(out).toMatch(/^ {2}InClusterIPPool +default\/inclusterippool-sample +1 +1 +0 +0$/m)
      expect(out).toMatch(/^ {2}GlobalInClusterIPPool +globalinclusterippool-sample +1 +0 +1 +0$/m)
      expect(status).toBe(0)
    }
  })
})

function listOf(items: readonly unknown[], kind = 'List', apiVersion = 'v1') {
  return { apiVersion, kind, metadata: { resourceVersion: '' }, items }
}

describe('claims', () => {
  test('are served in the order of the files, whatever comes before what', async () => {
    const result = await resultOf([web(2), web(1), lab, web(0)])
    expect(addressesOf(result)).toEqual(['web-2: 10.0.0.10', 'web-1: 10.0.0.11', 'web-0: 10.0.0.12'])
    expect(result.status).toBe(0)
  })

  test('wait when the pool is dry, and say so', async () => {
    const { status, out } = await demoOf([lab, web(0), web(1), web(2), web(3)])
    expect(out).toMatch(/web-3 +InClusterIPPool\/lab +Error +PoolExhausted +- +- +-$/m)
    expect(out).toContain('default/web-3: Error PoolExhausted: no address available in InClusterIPPool default/lab')
    expect(out).toContain('4 claims: 3 bound, 0 pending, 1 error, 0 ignored')
    expect(status).toBe(1)
  })

  test('of a paused cluster and of a paused pool are paused', async () => {
    const blue = { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Cluster', metadata: { name: 'blue' } }
    const paused = { ...lab.metadata, annotations: { 'cluster.x-k8s.io/paused': '' } }
    const ofBlue = claim('blue-0', 'InClusterIPPool/lab', { spec: { clusterName: 'blue' } })
    const byCluster = await resultOf([{ ...blue, spec: { paused: true } }, lab, ofBlue, web(0)])
    expect(addressesOf(byCluster)).toEqual(['blue-0: Pending Paused', 'web-0: 10.0.0.10'])
    const byPool = await resultOf([{ ...lab, metadata: paused }, web(0)])
    expect(addressesOf(byPool)).toEqual(['web-0: Pending Paused'])
    expect(byPool.claims[0]?.message).toBe('InClusterIPPool default/lab is paused')
  })

  test('of another provider are ignored, which is no failure', async () => {
    const { status, out } = await demoOf([lab, web(0), claim('vip', 'ExamplePool/vips')])
    expect(out).toMatch(/vip +ExamplePool\/vips +Ignored +ForeignPool/)
    expect(out).toContain('default/vip: Ignored ForeignPool: no pool kind of this provider: ExamplePool of group')
    expect(out).toContain('2 claims: 1 bound, 0 pending, 0 error, 1 ignored')
    expect(status).toBe(0)
  })

  test('of prefix pools get prefixes', async () => {
    const prefixes = pool('nodes', { prefixes: ['2001:db8::/62'], gateway: 'fe80::1' }, 'InClusterPrefixPool')
    const { status, out } = await demoOf([claim('node-0', 'InClusterPrefixPool/nodes'), prefixes], '-v')
    expect(out).toMatch(/node-0 .* Bound +AddressAllocated +2001:db8:: +64 +fe80::1$/m)
    expect(out).toContain(
      'InClusterPrefixPool default/nodes\n  PREFIX         HOLDER\n  2001:db8::/64  default/node-0\n',
    )
    expect(status).toBe(0)
  })

  test('keep the address that a dump says they have', async () => {
    const dumped = {
      uid: 'b2c8e0f4-6d5e-4d8b-9b6e-000000000001',
      resourceVersion: '4711',
      generation: 1,
      creationTimestamp: '2025-05-05T05:05:05Z',
      managedFields: [{ manager: 'kubectl', operation: 'Update' }],
    }
    const owner = { apiVersion: `${group}/v1beta2`, kind: 'IPAddressClaim', name: 'web-0', uid: dumped.uid }
    const address = {
      apiVersion: `${group}/v1beta2`,
      kind: 'IPAddress',
      metadata: { ...dumped, name: 'web-0', namespace: 'default', ownerReferences: [owner] },
      spec: {
        claimRef: { name: 'web-0' },
        poolRef: { apiGroup: group, kind: 'InClusterIPPool', name: 'lab' },
        address: '10.0.0.12',
        prefix: 24,
      },
    }
    const bound = {
      ...claim('web-0', 'InClusterIPPool/lab', { metadata: dumped }),
      status: { addressRef: { name: 'web-0' } },
    }
    const full = { ...lab, metadata: { ...lab.metadata, ...dumped }, status: 'of another server' }
    const result = await resultOf([listOf([address, bound, web(1), full])])
    expect(result.refused).toEqual([])
    expect(addressesOf(result)).toEqual(['web-0: 10.0.0.12', 'web-1: 10.0.0.10'])
  })

  test('of a dump that were being deleted are loaded as if they were not', async () => {
    const metadata = { deletionTimestamp: '2025-05-05T05:05:05Z', deletionGracePeriodSeconds: 0, finalizers: [] }
    const { status, out } = await demoOf([lab, claim('web-0', 'InClusterIPPool/lab', { metadata })])
    expect(out).toContain('<stdin>:3: IPAddressClaim default/web-0: Warning: it was being deleted')
    expect(status).toBe(0)
  })
})

describe('--delete', () => {
  const full = [lab, web(0), web(1), web(2), web(3)]

  test('frees an address for the claim that waits', async () => {
    const { status, out } = await demoOf(full, '--delete', 'IPADDRESSCLAIMS/web-1')
    expect(out).toContain(
      'First run\n  4 claims: 3 bound, 0 pending, 1 error, 0 ignored\n  default/web-3: Error PoolExhausted',
    )
    expect(out).toMatch(/After the deletion of IPAddressClaim default\/web-1\n +OBJECT/)
    expect(out).toMatch(/IPAddressClaim default\/web-1 +Bound 10\.0\.0\.11 +gone$/m)
    expect(out).toMatch(/IPAddressClaim default\/web-3 +Error PoolExhausted +Bound 10\.0\.0\.11$/m)
    expect(out).toContain('3 claims: 3 bound, 0 pending, 0 error, 0 ignored')
    expect(status).toBe(0)
  })

  test('waits for the end of the grace period, in virtual time', async () => {
    const slow = { ...lab, spec: { ...lab.spec, addressReuseGracePeriodSeconds: 86_400 } }
    const { status, out } = await demoOf([slow, ...full.slice(1)], '--delete', 'ipaddressclaim/default/web-1')
    expect(out).toContain('time moves on by 86400 s, because 10.0.0.11 is released in 86400 s')
    expect(out).toMatch(/IPAddressClaim default\/web-3 +Error PoolExhausted +Bound 10\.0\.0\.11$/m)
    expect(status).toBe(0)
  })

  test('is done in order, each when the one before has come to its end', async () => {
    const result = await resultOf(
      [lab, web(0)],
      '--delete',
      'inclusterippool/lab',
      '--delete',
      'ipaddressclaim/web-0',
      '--delete',
      'InClusterIPPools/lab',
    )
    expect(result.refused).toEqual([
      {
        action: 'refused',
        where: '--delete',
        object: 'InClusterIPPool default/lab',
        reason:
          'admission webhook "validation.inclusterippool.ipam.cluster.x-k8s.io" denied the request: Pool has IPAddresses allocated. Cannot delete Pool until all IPAddresses have been removed.',
      },
    ])
    expect(result.pools).toEqual([])
    expect(result.claims).toEqual([])
    expect(result.err).toMatch(/InClusterIPPool default\/lab +0 used, 3 free +gone/)
    expect(result.status).toBe(2)
  })

  test('says what keeps an object', async () => {
    const { out } = await demoOf([lab, web(0)], '--delete', 'ipaddress/web-0')
    expect(out).toContain('it is still there, kept by ipam.cluster.x-k8s.io/ProtectAddress\n')
    expect(out).toContain('no claim and no pool has changed')
  })

  test('names objects of that name elsewhere if there is none', async () => {
    const { status, out } = await demoOf(full, '--delete', 'ipaddressclaim/office/web-1', '--delete', 'Cluster/nope')
    expect(out).toContain(
      '--delete: IPAddressClaim office/web-1 refused: not found; there is IPAddressClaim default/web-1, IPAddress default/web-1\n',
    )
    expect(out).toContain('--delete: Cluster default/nope refused: not found\n')
    expect(out).toContain('4 claims: 3 bound')
    expect(status).toBe(2)
  })
})

describe('what is not taken in', () => {
  test('broken YAML, by line and column; the documents and files after it are taken in', async () => {
    await write('broken.yaml', `a: {b: 1\n---\na:\n  "unclosed\n---\n${JSON.stringify(lab)}\n---\na: *none\n`)
    await write('claim.json', JSON.stringify(web(0)))
    const { status, out } = await demo(['-f', 'broken.yaml', '-f', 'claim.json'])
    expect(out).toMatch(/^ {2}broken\.yaml:2:1: Flow map .*$/m)
    expect(out).toMatch(/^ {2}broken\.yaml:5:1: Missing closing "quote$/m)
    expect(out).toMatch(/^ {2}broken\.yaml:8:1: Unresolved alias .*none$/m)
    expect(out).toContain('1 claim: 1 bound')
    expect(status).toBe(2)
  })

  test('broken JSON', async () => {
    const { status, out } = await demoOf('{"apiVersion": "v1",\n "kind": }]\n')
    expect(out).toMatch(/^ {2}<stdin>:2:\d+: /m)
    expect(status).toBe(2)
  })

  test('aliases that unfold without end, and values that nest without end', async () => {
    const bomb = [...'bcdefghi'].map((key, n) => `${key}: &${key} [${Array(10).fill(`*${'abcdefgh'[n]}`).join()}]`)
    const { out } = await demoOf(['a: &a [x]', ...bomb].join('\n'))
    expect(out).toContain('<stdin>:1:1: Excessive alias count indicates a resource exhaustion attack')
    const deep = await demoOf(`a: ${'['.repeat(20_000)}\n---\n${JSON.stringify(lab)}\n`)
    expect(deep.out).toMatch(/<stdin>:1:\d+: nested too deeply/)
    expect(deep.out).toMatch(/InClusterIPPool +default\/lab/)
  })

  test('files that are not there or cannot be read, and folders without manifests', async () => {
    await mkdir(join(folder, 'empty/folder.yaml'), { recursive: true })
    await mkdir(join(folder, 'odd'), { recursive: true })
    await symlink('loop.yaml', join(folder, 'odd/loop.yaml'))
    await write('odd/lab.yml', JSON.stringify(lab))
    await write('odd/notes.txt', 'no manifest')
    const { status, out } = await demo(['-f', 'missing.yaml', '-f', 'empty', '-f', 'odd'])
    expect(out).toContain('  missing.yaml: no such file or directory\n')
    expect(out).toContain('  empty: no *.yaml, *.yml or *.json file in this folder\n')
    expect(out).toMatch(/^ {2}odd\/loop\.yaml: too many symbolic links/m)
    expect(out).toMatch(/InClusterIPPool +default\/lab/)
    expect(status).toBe(2)
  })

  test('a file with nothing in it is no mistake', async () => {
    const { status, out } = await demoOf('# only a comment\n---\n')
    expect(out).toContain('<stdin>: Warning: nothing in it')
    expect(status).toBe(0)
  })

  test('other kinds are skipped, which is no failure', async () => {
    const other = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } }
    const namesake = { ...lab, apiVersion: 'ipam.metal3.io/v1alpha1', kind: 'IPAddress' }
    const { status, refused } = await resultOf([other, namesake, lab, web(0)])
    expect(refused.map(({ action, object }) => `${action} ${object}`)).toEqual([
      'skipped apps/v1 Deployment',
      'skipped ipam.metal3.io/v1alpha1 IPAddress',
    ])
    expect(status).toBe(0)
  })

  test('versions that are not read', async () => {
    const { status, out } = await demoOf([{ ...lab, apiVersion: `${group}/v1alpha9` }])
    expect(out).toContain(
      'InClusterIPPool default/lab refused: expected ipam.cluster.x-k8s.io/v1alpha2 or ipam.cluster.x-k8s.io/v1alpha1 InClusterIPPool, got "ipam.cluster.x-k8s.io/v1alpha9 InClusterIPPool"',
    )
    expect(status).toBe(2)
  })

  test('older versions are taken in as what they mean, or refused for what they cannot', async () => {
    const old = { ...lab, apiVersion: `${group}/v1alpha1` }
    const { status, out } = await demoOf([{ ...old, spec: { subnet: '10.0.7.0/30' } }])
    expect(out).toMatch(/InClusterIPPool +default\/lab +2 +0 +2 +0/)
    expect(status).toBe(0)
    const wrong = await demoOf([{ ...old, spec: { subnet: '10.0.7.0' } }])
    expect(wrong.out).toContain('InClusterIPPool "default/lab" is invalid: spec.subnet: "10.0.7.0": no \'/\'')
  })

  test('what is no object', async () => {
    const { status, refused } = await resultOf('just text\n---\n[1, 2]\n---\n{"kind": "Cluster"}\n')
    expect(refused.map(({ where, reason }) => `${where} ${reason}`)).toEqual([
      '<stdin>:1 not an object with apiVersion and kind',
      '<stdin>:3 not an object with apiVersion and kind',
      '<stdin>:5 apiVersion and kind are needed, as texts',
    ])
    expect(status).toBe(2)
  })

  test('objects that do not fit their schema, with every field', async () => {
    const { status, refused } = await resultOf([pool('lab', { addresses: '10.0.0.1', prefix: '24', gateway: 7 })])
    expect(refused).toHaveLength(1)
    expect(refused[0]?.reason).toMatch(/spec\.addresses: .*spec\.prefix: .*spec\.gateway: /)
    expect(status).toBe(2)
  })

  test('names that Kubernetes does not allow', async () => {
    const { refused } = await resultOf([pool('Lab_1', lab.spec)])
    expect(refused[0]?.reason).toMatch(/^metadata\.name: must be a lowercase RFC 1123 subdomain/)
  })

  test('pools that the upstream webhook refuses, in its words', async () => {
    const spec = { addresses: ['10.0.0.0/24', '10.1.0.0/24'], prefix: 24, gateway: 'x', excludedAddresses: ['fd00::1'] }
    const { status, out } = await demoOf([pool('lab', spec), web(0)])
    expect(out).toContain(
      '<stdin>:1: InClusterIPPool default/lab refused: admission webhook "validation.inclusterippool.ipam.cluster.x-k8s.io" denied the request: ' +
        'InClusterIPPool.ipam.cluster.x-k8s.io "lab" is invalid: ' +
        '[spec.gateway: Invalid value: "x": ParseAddr("x"): unable to parse IP, ' +
        'spec.excludedAddresses: Invalid value: []string{"fd00::1"}: addresses and excluded addresses are of mixed IP families]',
    )
    expect(out).toContain('web-0: Pending PoolNotReady: InClusterIPPool default/lab not found')
    expect(status).toBe(2)
  })

  test('warnings of the webhook, and a namespace where none belongs, are told and go through', async () => {
    const single = pool('hosts', { prefixes: ['fd00::/120'], allocationPrefixLength: 128 }, 'GlobalInClusterPrefixPool')
    const { status, out } = await demoOf([{ ...single, metadata: { name: 'hosts', namespace: 'office' } }])
    expect(out).toContain(
      'GlobalInClusterPrefixPool hosts: Warning: spec.allocationPrefixLength=128 behaves like host-',
    )
    expect(out).toContain(
      'GlobalInClusterPrefixPool hosts: Warning: the kind is cluster-scoped, its namespace is dropped',
    )
    expect(status).toBe(0)
  })

  test('the second object of a name, also in another version', async () => {
    const again = { ...web(0), apiVersion: `${group}/v1beta1`, spec: { poolRef: { kind: 'Other', name: 'other' } } }
    const elsewhere = claim('web-0', 'GlobalInClusterIPPool/all', { metadata: { namespace: 'office' } })
    const all = pool('all', lab.spec, 'GlobalInClusterIPPool')
    const result = await resultOf([lab, web(0), again, elsewhere, all])
    expect(result.refused).toEqual([
      {
        action: 'refused',
        where: '<stdin>:5',
        object: 'IPAddressClaim default/web-0',
        reason: 'there is one of this name already, from <stdin>:3',
      },
    ])
    expect(addressesOf(result)).toEqual(['web-0: 10.0.0.10', 'web-0: 10.0.0.10'])
    expect(result.status).toBe(2)
  })

  test('control characters reach no terminal, and forge no line', async () => {
    const evil = claim('web-0', 'Example\u001b[2JPool/a\n  forged\u009b')
    const { out } = await demoOf([evil])
    expect(out).toContain('Example\\u001b[2JPool/a\\u000a  forged\\u009b')
    expect(out).not.toMatch(/[^\n\P{Cc}]/u)
  })
})

describe('files', () => {
  test('folders are read by name, not recursively, and lists item by item with their lines', async () => {
    await mkdir(join(folder, 'many/below'), { recursive: true })
    await write('many/b.json', JSON.stringify(listOf([web(1), { kind: 'Odd', apiVersion: 'v1' }])))
    await write('many/a.yaml', 'apiVersion: v1\nkind: List\nitems:\n  - apiVersion: v1\n    kind: Odd\n')
    await write('many/c.yml', JSON.stringify({ ...listOf([lab], 'InClusterIPPoolList', `${group}/v1alpha2`) }))
    await write('many/below/d.yaml', JSON.stringify(web(2)))
    await write('many/e.txt', JSON.stringify(web(3)))
    const { out, status } = await demo(['-f', 'many', '-o', 'json'])
    const result = JSON.parse(out) as Result
    expect(addressesOf(result)).toEqual(['web-1: 10.0.0.10'])
    expect(result.refused.map(({ where }) => where)).toEqual(['many/a.yaml:4', 'many/b.json:1 items[1]'])
    expect(status).toBe(0)
  })

  test('a directive is for the document after it', async () => {
    const cluster = 'apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: blue}\nspec: {paused: yes}\n'
    expect((await resultOf(`# YAML 1.1 has more words for true\n%YAML 1.1\n---\n${cluster}`)).refused).toEqual([])
    expect((await resultOf(cluster)).refused[0]?.reason).toContain('spec.paused: ')
  })

  test('items of a typed list need no kind, and comments, directives and other line ends are fine', async () => {
    const { apiVersion: _1, kind: _2, ...bare } = web(0)
    const list = JSON.stringify(listOf([bare], 'IPAddressClaimList', `${group}/v1beta2`))
    const { status, out } = await demoOf(
      `\uFEFF# first\r\n%YAML 1.2\r\n---\r\n${JSON.stringify(lab)}\r\n--- # list\r\n${list}\r\n`,
    )
    expect(out).toContain('1 claim: 1 bound')
    expect(status).toBe(0)
  })
})

describe('output', () => {
  const args = ['-f', '-', '--delete', 'ipaddressclaim/web-1', '-o']
  const stdin = [lab, web(0), web(1), pool('bad', { addresses: [], prefix: 24 })]
    .map((it) => JSON.stringify(it))
    .join('\n---\n')

  test('json and yaml are one document each, of the same content', async () => {
    const json = await demo([...args, 'json'], { stdin })
    const yaml = await demo([...args, 'yaml'], { stdin })
    const result = JSON.parse(json.out) as Result
    expect(parse(yaml.out)).toEqual(result)
    expect(result).toMatchObject({
      claims: [
        {
          namespace: 'default',
          name: 'web-0',
          pool: 'InClusterIPPool/lab',
          phase: 'Bound',
          reason: 'AddressAllocated',
          address: '10.0.0.10',
          prefix: 24,
          gateway: '10.0.0.1',
          message: null,
        },
      ],
      pools: [
        {
          kind: 'InClusterIPPool',
          namespace: 'default',
          name: 'lab',
          total: 3,
          used: 1,
          free: 2,
          outOfRange: 0,
          problem: null,
        },
      ],
      refused: [{ action: 'refused', object: 'InClusterIPPool default/bad' }],
      summary: { claims: 1, bound: 1, pending: 0, error: 0, ignored: 0, refused: 1, skipped: 0 },
    })
    expect(Object.keys(result)).toEqual(['claims', 'pools', 'refused', 'summary'])
    expect(json.err).toContain('After the deletion of IPAddressClaim default/web-1')
    expect(json.err).toContain('InClusterIPPool default/bad refused')
    expect(json.status).toBe(2)
  })

  test('is documented', async () => {
    const { status, out, err } = await demo(['--help'])
    expect(out).toMatch(/^Usage: .*(.|\n)*Exit status(.|\n)* 2 {3}wrong usage/)
    for (const option of [
      '--scenario',
      '-f',
      '--delete',
      '-o',
      '-v',
      '--verbose',
      '--all',
      '--progress',
      '-h',
      '--help',
    ])
      expect(out).toContain(option)
    expect([status, err]).toEqual([0, ''])
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(120)
  })

  test.each([
    [['--nope'], "Unknown option '--nope'"],
    [['manifests'], "Unexpected argument 'manifests'"],
    [['-f'], "Option '-f, --filename <value>' argument missing"],
    [['-f', ''], '-f needs the name of a file or folder'],
    [['-f', '-', '-f', '-'], 'standard input can be read only once'],
    [['-o', 'xml'], '-o takes table, json, yaml, not "xml"'],
    [['--delete', 'Pod/x'], '--delete Pod/x: no such kind; there are Cluster, IPAddressClaim'],
    [['--delete', 'ipaddressclaim'], '--delete ipaddressclaim: write KIND/NAME or KIND/NAMESPACE/NAME'],
    [['--delete', 'ipaddressclaim//x'], 'write KIND/NAME'],
    [['--delete', 'globalinclusterippools/a/b'], 'GlobalInClusterIPPool is cluster-scoped, write KIND/NAME'],
  ])('%j is a mistake', async (mistaken, message) => {
    const { status, out, err } = await demo(mistaken)
    expect(err).toContain(message)
    expect(err).toContain('Usage: npm run demo')
    expect([status, out]).toEqual([2, ''])
  })

  test('the process ends with the same status', async () => {
    const paused = 'docs/examples/manifests/06-paused-cluster.yaml'
    const ended = isDeep ? demoProcess : (args: readonly string[]) => demo(args, { in: root })
    expect((await ended(['--nope'])).status).toBe(2)
    expect((await ended(['-f', paused])).status).toBe(1)
  })
})

describe('thousands of claims', () => {
  const pools = [
    pool('large', { addresses: ['10.0.0.0/16'], prefix: 16 }, 'GlobalInClusterIPPool'),
    ...['a', 'b', 'c'].map((name, n) => pool(name, { addresses: [`10.${n + 1}.0.0/24`], prefix: 24 })),
  ]
  const count = isDeep ? 10_000 : 500
  const claims = Array.from({ length: count }, (_, n) =>
    claim(`claim-${n}`, n % 100 < 97 ? 'GlobalInClusterIPPool/large' : `InClusterIPPool/${'abc'[n % 3]}`),
  )

  test('are bound, with progress', async () => {
    await write('claims.json', JSON.stringify(listOf([...pools, ...claims])))
    const { status, out, err } = await demo(['-f', 'claims.json', '-v', '--progress'])
    expect(out).toContain(`${count} claims: ${count} bound, 0 pending, 0 error, 0 ignored`)
    expect(out).toContain(`  ... and ${count - 50} more: --all shows them\n`)
    expect(out.match(/^ {2}default +claim-/gm)).toHaveLength(50)
    expect(err).toMatch(/\r\d+ planned, \d+ written, \d+ waiting/)
    expect(err).toMatch(/\r +\r$/)
    expect(status).toBe(0)
  })

  test('are 10 without -v', async () => {
    const { out } = await demoOf([...pools, ...claims.slice(0, 12)])
    expect(out.match(/^ {2}default +claim-/gm)).toHaveLength(10)
    expect(out).toContain('  ... and 2 more: --all shows them\n')
    expect(out).not.toContain('Map: ')
    expect(out.trimEnd().split('\n').at(-1)).toBe('-v shows a map of each pool, and more rows of long tables.')
  })

  test('are all there with --all', async () => {
    const { out, err } = await demoOf([...pools, ...claims.slice(0, 120)], '--all')
    expect(out.match(/^ {2}default +claim-/gm)).toHaveLength(120)
    expect(out).not.toContain('--all')
    expect(err).toBe('')
  })
})
