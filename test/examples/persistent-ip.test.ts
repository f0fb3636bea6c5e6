import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { StatefulSet } from 'ipam-kit/crd/core'
import { VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { unwrap } from 'ipam-kit/errors'
import { timers } from 'ipam-kit/node'
import { CLAIM_TEMPLATE_ANNOTATION, PERSISTENT_IPS_LABEL } from 'ipam-kit/provider/persistent-ip'
import { prometheusText } from 'ipam-kit/render'
import { memoryStore } from 'ipam-kit/store/memory'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { ClaimFigures } from '../../docs/examples/persistent-ip/figures.js'
import { ADDRESS_FLAGS, addressWorkOf, CLAIM_FLAGS, claimWorkOf } from '../../docs/examples/persistent-ip/flags.js'
import { serveWebhook } from '../../docs/examples/persistent-ip/webhook.js'
import { COMMON_FLAGS, parseFlags, readSettings } from '../../docs/examples/program/flags.js'
import { type Authority, createAuthority } from '../setup/certificates.js'

const folder = new URL('../../docs/examples/persistent-ip/', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, folder), 'utf8')
const claimWork = (...args: readonly string[]) => claimWorkOf(parseFlags(CLAIM_FLAGS, args))
const addressWork = (elects: boolean, ...args: readonly string[]) =>
  addressWorkOf(parseFlags(ADDRESS_FLAGS, args), { elects })
const addressPlanner = (...args: readonly string[]) => addressWork(true, ...args).planners[0]
const STATEFUL_SETS = '--owners=apps/v1/statefulsets/StatefulSet'
const watched = (planner: { readonly watches: readonly { readonly kind: string }[] } | undefined) =>
  planner?.watches.map(({ kind }) => kind)

describe('the flags of the programs of persistent IPs', () => {
  test('without any, claims of virtual machines are made, and the webhook is served', () => {
    const { planners, keyKinds, webhook } = claimWork()
    expect(planners.map(({ name }) => name)).toEqual(['persistent-claims'])
    expect(keyKinds).toEqual(['VirtualMachine'])
    expect(webhook).toMatchObject({ port: 8443, folder: '/certificates' })
    expect(webhook?.watches.map(({ kind }) => kind)).toEqual(['VirtualMachineInstance', 'NetworkAttachmentDefinition'])
  })

  test('--owners adds workloads of other kinds, also without KubeVirt', () => {
    expect(claimWork(STATEFUL_SETS).keyKinds).toEqual(['VirtualMachine', 'IPAMClaim'])
    const { planners, webhook } = claimWork('--no-kubevirt', STATEFUL_SETS)
    expect(watched(planners[0])).toContain('StatefulSet')
    expect(planners[0]?.watches.find(({ kind }) => kind === 'StatefulSet')).toMatchObject({
      apiVersion: StatefulSet.info.apiVersion,
      plural: StatefulSet.info.plural,
      namespaced: true,
    })
    expect(webhook?.watches.map(({ kind }) => kind)).toEqual(['NetworkAttachmentDefinition'])
    expect(claimWork('--webhook=0').webhook).toBeUndefined()
  })

  test('--no-enabled reads no definition, and the webhook allows each Pod', () => {
    const { planners, webhook } = claimWork('--no-enabled')
    expect(watched(planners[0])).not.toContain('NetworkAttachmentDefinition')
    expect(webhook?.watches).toEqual([])
    expect(watched(addressPlanner('--no-enabled'))).toEqual(['IPAMClaim', 'Pod'])
    expect(watched(addressPlanner())).toContain('NetworkAttachmentDefinition')
  })

  test('--unplugged delete reads Pods', () => {
    expect(watched(claimWork('--unplugged=delete').planners[0])).toContain('Pod')
    expect(watched(claimWork().planners[0])).not.toContain('Pod')
  })

  test('--missed-mutations report reads Pods, and --stretched names networks', () => {
    expect(watched(claimWork('--missed-mutations=report').planners[0])).toContain('Pod')
    expect(() => claimWork('--missed-mutations=x')).toThrow(/^--missed-mutations \(x\) must be ignore or report$/)
    expect(addressPlanner('--stretched=lab, wan')?.name).toBe('persistent-ips')
  })

  test.each([
    [['--no-kubevirt'], /^--no-kubevirt without --owners leaves nothing to do$/],
    [['--owners=StatefulSet'], /^--owners \(StatefulSet\) must be GROUP\/VERSION\/PLURAL\/KIND, such as/],
    [['--owners=apps/v1/statefulsets/StatefulSet/x'], /^--owners/],
    [['--unplugged=maybe'], /^--unplugged \(maybe\) must be keep or delete$/],
    [['--failure-policy=ignore'], /^--failure-policy \(ignore\) must be Ignore or Fail$/],
    [['--grace=-1'], /grace/],
    [['--webhook=70000'], /^--webhook \(70000\) must be a port/],
  ])('%j is refused in one sentence', (args, sentence) => {
    expect(() => claimWork(...args)).toThrow(sentence)
  })

  test('--ledger blocks works in any number of processes, and takes no leader', () => {
    const { planners, controller } = addressWork(false, '--ledger=blocks', '--sweep-after=1')
    expect(watched(planners[0])).toContain('IPBlock')
    expect(planners).toHaveLength(2)
    const parts = { store: memoryStore({ now: Date.now }), canWrite: undefined, identity: 'one' }
    expect(controller?.(parts)).toEqual({ external: expect.any(Function), identity: 'one' })
    expect(addressWork(true).controller).toBeUndefined()
    expect(() => addressWork(true, '--ledger=blocks')).toThrow(/^--ledger blocks needs no leader/)
    expect(() => addressWork(true, '--ledger=paper')).toThrow(/^--ledger \(paper\) must be objects or blocks$/)
  })

  test('wrong flags of the program that gives addresses are refused', () => {
    expect(() => addressPlanner('--terminating-claims=keep')).toThrow(/must be refuse or serve$/)
    expect(() => addressPlanner('--default-network-namespace=')).toThrow(/must be the name of a namespace$/)
  })
})

test('the metrics count objects by what their last plan came to', () => {
  const figures = new ClaimFigures('IPAMClaim', 'Pod')
  const observe = (key: string, kind: string | undefined) => {
    const outcome = kind === undefined ? undefined : { kind, message: '' }
    figures.observe({ planner: 'p', key, kind: 'done', outcome, attempts: 1, tookMs: 1 })
  }
  for (const name of ['a', 'b', 'c']) observe(`IPAMClaim n/${name}`, 'pending')
  observe('IPAMClaim n/a', 'served')
  observe('IPAMClaim n/b', undefined)
  observe('Pod n/a', 'served')
  observe('VirtualMachine n/a', 'kept')
  const lines = prometheusText(figures.metrics()).split('\n')
  expect(lines.filter((line) => line.startsWith('ipam_'))).toEqual([
    'ipam_persistent_ip_objects{kind="IPAMClaim",outcome="served"} 1',
    'ipam_persistent_ip_objects{kind="IPAMClaim",outcome="pending"} 1',
    'ipam_persistent_ip_objects{kind="Pod",outcome="served"} 1',
  ])
})

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  // biome-ignore lint/suspicious/noExplicitAny: manifests of several kinds
  readonly [member: string]: any
}

describe('the manifests of persistent IPs', () => {
  const kustomization = parse(read('kustomization.yaml')) as { resources: string[]; images: { name: string }[] }
  const objects = kustomization.resources.flatMap((file) =>
    parseAllDocuments(read(file)).map((document) => document.toJS() as Manifest),
  )
  const named = (kind: string, name: string) => {
    const found = objects.find((object) => object.kind === kind && object.metadata.name === name)
    if (found === undefined) throw new Error(`no ${kind} ${name}`)
    return found
  }
  const podOf = (name: string) => named('Deployment', name).spec.template.spec
  const [CLAIMS, IPS] = ['ipam-kit-persistent-claims', 'ipam-kit-persistent-ips']

  test.each([CLAIMS, IPS])('run %s as the account that has the rights, with the image of the kustomization', (name) => {
    const { serviceAccountName, containers } = podOf(name)
    expect(named('ServiceAccount', serviceAccountName).metadata.namespace).toBe('ipam-system')
    expect(kustomization.images.map((image) => image.name)).toEqual([containers[0].image])
    const { rules } = named('ClusterRole', name)
    const planners =
      name === CLAIMS ? claimWork(STATEFUL_SETS).planners : addressWork(false, '--ledger=blocks').planners
    const watchedKinds = planners.flatMap(({ watches }) => watches)
    for (const { apiVersion, plural } of watchedKinds) {
      const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : ''
      const rule = rules.find(
        (each: Manifest) => each.apiGroups.includes(group) && each.resources.includes(plural) && each.verbs.length > 1,
      )
      expect(rule?.verbs, plural).toEqual(expect.arrayContaining(['get', 'list', 'watch']))
    }
  })

  test('have flags that the programs have', () => {
    const values = parseFlags({ ...COMMON_FLAGS, ...CLAIM_FLAGS }, podOf(CLAIMS).containers[0].args)
    expect(readSettings(values)).toMatchObject({ elects: true, metricsPort: 8080, namespace: 'ipam-system' })
    const { webhook } = claimWorkOf(values)
    expect(podOf(CLAIMS).containers[0].volumeMounts).toMatchObject([{ mountPath: webhook?.folder }])
    expect(podOf(CLAIMS).containers[0].ports).toContainEqual({ name: 'webhook', containerPort: webhook?.port })
    const others = parseFlags({ ...COMMON_FLAGS, ...ADDRESS_FLAGS }, podOf(IPS).containers[0].args)
    expect(readSettings(others)).toMatchObject({ elects: true, metricsPort: 8080 })
    expect(addressWorkOf(others, { elects: true }).planners.map(({ name }) => name)).toEqual(['persistent-ips'])
  })

  test('register the webhook at its Service, with the certificate of that name', () => {
    const webhooks: readonly Manifest[] = named('MutatingWebhookConfiguration', CLAIMS).webhooks
    expect(webhooks.map(({ failurePolicy, objectSelector }) => [failurePolicy, objectSelector.matchLabels])).toEqual([
      ['Ignore', { 'kubevirt.io': 'virt-launcher' }],
      ['Ignore', { [PERSISTENT_IPS_LABEL]: 'true' }],
    ])
    expect(webhooks[1]?.clientConfig).toEqual(webhooks[0]?.clientConfig)
    const { namespace, name } = webhooks[0]!.clientConfig.service
    expect(named('Service', name).metadata).toMatchObject({ namespace })
    expect(named('Service', name).spec.selector).toEqual(named('Deployment', CLAIMS).spec.template.metadata.labels)
    const certificate = parseAllDocuments(read('certificate.yaml'))
      .map((document) => document.toJS() as Manifest)
      .find(({ kind }) => kind === 'Certificate')
    expect(certificate?.spec.dnsNames).toEqual([`${name}.${namespace}.svc`])
    expect(podOf(CLAIMS).volumes[0].secret.secretName).toBe(certificate?.spec.secretName)
  })
})

const config = {
  ...{ name: 'tenant-blue', type: 'ovn-k8s-cni-overlay', netAttachDefName: 'shop/blue', topology: 'layer2' },
  ...{ subnets: '10.20.0.0/24', allowPersistentIPs: true },
}
const nad = {
  ...{ apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition' },
  metadata: { name: 'blue', namespace: 'shop' },
  spec: { config: JSON.stringify(config) },
}
const instance = {
  ...{ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance' },
  metadata: { name: 'db', namespace: 'shop' },
  spec: { networks: [{ name: 'blue', multus: { networkName: 'blue' } }] },
}
const review = {
  ...{ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' },
  request: {
    ...{ uid: '705ab4f5', kind: { group: '', version: 'v1', kind: 'Pod' }, namespace: 'shop', operation: 'CREATE' },
    object: {
      ...{ apiVersion: 'v1', kind: 'Pod', spec: {} },
      metadata: {
        ...{ name: 'virt-launcher-db', namespace: 'shop' },
        annotations: { 'kubevirt.io/domain': 'db', 'k8s.v1.cni.cncf.io/networks': 'blue' },
      },
    },
  },
}

const ofWorkload = {
  ...review,
  request: {
    ...review.request,
    object: {
      ...{ apiVersion: 'v1', kind: 'Pod', spec: {} },
      metadata: {
        ...{ name: 'web-0', namespace: 'shop', labels: { [PERSISTENT_IPS_LABEL]: 'true' } },
        annotations: { 'k8s.v1.cni.cncf.io/networks': 'blue', [CLAIM_TEMPLATE_ANNOTATION]: '{pod}.{network}' },
      },
    },
  },
}

describe('the webhook server', () => {
  const place = mkdtempSync(join(tmpdir(), 'ipam-kit-webhook-'))
  let authority: Authority
  const ends: (() => Promise<void>)[] = []
  const issue = async () => {
    const { cert, key } = await authority.issue({ commonName: 'webhook' }, 'server')
    writeFileSync(join(place, 'tls.crt'), cert)
    writeFileSync(join(place, 'tls.key'), key)
  }
  beforeAll(async () => {
    authority = await createAuthority('webhook-test')
  })
  afterAll(async () => {
    for (const end of ends) await end()
    rmSync(place, { recursive: true })
  })

  let nextPort = 40_000 + (process.pid % 10_000)
  /** A server on a store with a machine and its network. */
  async function served(...args: readonly string[]) {
    await issue()
    const { rules = [], watches = [] } = claimWork(STATEFUL_SETS, ...args).webhook ?? {}
    const kinds = [VirtualMachineInstance.info, NetworkAttachmentDefinition.info]
    const store = memoryStore({ now: Date.now, kinds })
    for (const object of [nad, instance]) unwrap(await store.create(object))
    const lines: string[] = []
    const port = nextPort++
    const log = (text: string) => void lines.push(text)
    ends.push(
      serveWebhook({ store, timers, onProblem: () => {}, log, port, folder: place, rules, watches, renewalMs: 20 }),
    )
    return { port, lines }
  }

  /** @returns the answer, and the serial number of the certificate */
  function ask(
    port: number,
    body: string,
  ): Promise<{ readonly status: number; readonly text: string; readonly serial: string }> {
    return new Promise((resolve, reject) => {
      const sent = httpsRequest({
        port,
        host: '127.0.0.1',
        ca: authority.cert,
        method: 'POST',
        path: '/pods',
        agent: false,
      })
      sent.once('error', reject).once('response', async (response) => {
        const { socket } = response
        const serial = socket instanceof TLSSocket ? socket.getPeerCertificate().serialNumber : ''
        let text = ''
        for await (const part of response.setEncoding('utf8')) text += part
        resolve({ status: response.statusCode ?? 0, text, serial })
      })
      sent.end(body)
    })
  }
  /** An API server that gives up in the midst of a request. */
  function cutOff(port: number): Promise<void> {
    return new Promise((resolve) => {
      const headers = { 'content-length': 100 }
      const sent = httpsRequest({ port, host: '127.0.0.1', ca: authority.cert, method: 'POST', agent: false, headers })
      sent.once('error', () => {}).once('close', () => resolve())
      sent.once('socket', (socket) => socket.once('secureConnect', () => setTimeout(() => sent.destroy(), 20)))
      sent.write('{')
    })
  }
  const patchOf = (text: string) => {
    const { response } = JSON.parse(text) as { response: { allowed: boolean; patch?: string } }
    expect(response.allowed).toBe(true)
    return response.patch === undefined ? undefined : Buffer.from(response.patch, 'base64').toString()
  }

  test('names the claim of a machine from what it has watched', async () => {
    const { port } = await served('--failure-policy=Fail')
    const answer = await vi.waitFor(() => ask(port, JSON.stringify(review)), { timeout: 5000, interval: 20 })
    expect(patchOf(answer.text)).toContain('db.blue')
    const workload = await ask(port, JSON.stringify(ofWorkload))
    expect(patchOf(workload.text)).toContain('web-0.blue')
    expect(await ask(port, 'no JSON')).toMatchObject({ status: 400 })
    await cutOff(port)
    const { text } = await ask(port, '{}')
    expect(JSON.parse(text)).toMatchObject({ response: { allowed: false, status: { code: 400 } } })
  })

  test('allows each Pod as it is if the feature is off', async () => {
    const { port } = await served('--no-enabled')
    const { text } = await vi.waitFor(() => ask(port, JSON.stringify(review)), { timeout: 5000, interval: 20 })
    expect(patchOf(text)).toBeUndefined()
  })

  test('takes a renewed certificate, and keeps the last one if the new one cannot be used', async () => {
    const { port, lines } = await served()
    const serial = () => ask(port, '{}').then((answer) => answer.serial)
    const first = await vi.waitFor(serial, { timeout: 5000, interval: 20 })
    await issue()
    await vi.waitFor(async () => expect(await serial()).not.toBe(first), { timeout: 5000, interval: 20 })
    expect(lines).toEqual(['the certificate of the webhook is renewed'])
    const second = await serial()
    writeFileSync(join(place, 'tls.crt'), 'no certificate')
    await vi.waitFor(() => expect(lines).toHaveLength(2), { timeout: 5000, interval: 20 })
    expect(lines[1]).toMatch(/^the certificate of the webhook stays: /)
    expect(await serial()).toBe(second)
    await issue()
    await vi.waitFor(() => expect(lines).toHaveLength(3), { timeout: 5000, interval: 20 })
  })

  test('does not start without a certificate', () => {
    const parts = {
      store: memoryStore({ now: Date.now }),
      timers,
      onProblem: () => {},
      log: () => {},
      rules: [],
      watches: [],
    }
    expect(() => serveWebhook({ ...parts, port: 1, folder: join(place, 'none') })).toThrow(
      /^--certificates \(.*none\): ENOENT/,
    )
  })
})
