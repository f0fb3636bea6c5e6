import fc from 'fast-check'
import { Prefix } from 'ipam-kit/cidr'
import type { VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import { admitVMPod, requestedAddresses, type VMPodOptions } from 'ipam-kit/provider/persistent-ip'
import { describe, expect, test } from 'vitest'
import { nadOf, ovn } from './definitions.js'

const NETWORKS = 'k8s.v1.cni.cncf.io/networks'
const DEFAULT = 'v1.multus-cni.io/default-network'
const PRIMARY = 'k8s.ovn.org/primary-udn-ipamclaim'

const networks = (...nads: readonly string[]) =>
  nads.map((networkName, index) => ({ name: `net${index}`, multus: { networkName } }))
const podNetwork = { name: 'pod', pod: {} }
const vmi = (spec: VirtualMachineInstance['spec'], annotations = {}): VirtualMachineInstance => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachineInstance',
  metadata: { name: 'vm1', namespace: 'ns1', annotations },
  spec,
})
const nad = (name: string, config: unknown) => ({
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  ...nadOf(config, name),
})
const sticky = (name: string) => nad(name, { name: 'lab', allowPersistentIPs: true })
const primary = nad('ns1/nad1', ovn({ role: 'primary', allowPersistentIPs: true, subnets: '10.0.0.0/24,fd00::/64' }))

interface World {
  readonly annotations?: { readonly [name: string]: string }
  readonly instance?: VirtualMachineInstance
  readonly nads?: readonly ReturnType<typeof nad>[]
  readonly operation?: 'CREATE' | 'UPDATE'
  readonly options?: VMPodOptions
}

function answer({ annotations = {}, instance, nads = [], operation = 'CREATE', options }: World) {
  const metadata = { name: 'p', namespace: 'ns1', annotations: { 'kubevirt.io/domain': 'vm1', ...annotations } }
  const { admission, note } = admitVMPod(
    { operation, pod: { metadata } },
    {
      instance: (_, name) => (name === instance?.metadata.name ? instance : undefined),
      definition: (namespace, name) =>
        nads.find((each) => each.metadata.namespace === namespace && each.metadata.name === name),
      definitionsIn: (namespace) => nads.filter((each) => each.metadata.namespace === namespace),
    },
    options,
  )
  const set = Object.fromEntries(
    (admission.allowed ? (admission.patch ?? []) : []).map((operation) => [
      operation.path.slice('/metadata/annotations/'.length).replaceAll('~1', '/'),
      'value' in operation ? operation.value : undefined,
    ]),
  )
  return { admission, note, set }
}

describe('a Pod of a virtual machine', () => {
  test('names the claim of each network that honours claims, and keeps what it does not know', () => {
    const text = '[{"later":1,"name":"a","ipam-claim-reference":"stolen"},{"name":"b"},{"name":"c","namespace":"ns2"}]'
    const { set } = answer({
      annotations: { [NETWORKS]: text },
      instance: vmi({ networks: networks('a', 'ns1/b', 'ns2/c') }),
      nads: [sticky('ns1/a'), nad('ns1/b', { name: 'b' }), sticky('ns2/c')],
    })
    expect(set).toEqual({
      [NETWORKS]:
        '[{"name":"a","namespace":"ns1","ipam-claim-reference":"vm1.net0","later":1},{"name":"b","namespace":"ns1"},{"name":"c","namespace":"ns2","ipam-claim-reference":"vm1.net2"}]',
    })
  })

  test('with two interfaces of one definition names two claims (T2)', () => {
    const { set } = answer({
      annotations: { [NETWORKS]: 'a,a' },
      instance: vmi({ networks: networks('a', 'a') }),
      nads: [sticky('ns1/a')],
    })
    expect(String(set[NETWORKS]).match(/vm1\.net\d/g)).toEqual(['vm1.net0', 'vm1.net1'])
  })

  test('is allowed or refused where its instance is not known, as the options say', () => {
    const world = { annotations: { [NETWORKS]: 'a' }, nads: [sticky('ns1/a')] }
    expect(answer(world)).toMatchObject({
      admission: { allowed: true, warnings: [expect.stringContaining('"vm1" not found')] },
      note: 'carry on',
    })
    expect(answer({ ...world, options: { failurePolicy: 'Fail' } }).admission).toMatchObject({ code: 500 })
  })

  test('has the claims of the other elements where one cannot be resolved', () => {
    const { admission, set } = answer({
      annotations: { [NETWORKS]: 'gone,broken,a' },
      instance: vmi({ networks: networks('gone', 'broken', 'a') }),
      nads: [nad('ns1/broken', 'no'), sticky('ns1/a')],
    })
    expect(set[NETWORKS]).toContain('vm1.net2')
    expect(admission.warnings?.join()).toContain('ns1/gone does not exist')
    expect(admission.warnings?.join()).toContain('network ns1/broken')
    expect(admission.warnings).toHaveLength(2)
  })

  test('whose networks name no claim is allowed as it is', () => {
    expect(answer({}).note).toBe('no mutation required')
    const elsewhere = { annotations: { [NETWORKS]: 'a' }, nads: [sticky('ns1/a')] }
    expect(answer({ ...elsewhere, instance: vmi({}) }).note).toBe('carry on')
    const instead = { networks: [{ name: 'x', multus: { networkName: 'a', default: true } }] }
    expect(answer({ ...elsewhere, instance: vmi(instead) }).note).toBe('carry on')
    expect(admitVMPod({ operation: 'CREATE', pod: { metadata: { name: 'p' } } }, NOTHING).note).toBe('not a VM')
    expect(answer({ annotations: { [NETWORKS]: '{' } }).admission).toMatchObject({ code: 400 })
  })

  test('with an invalid claim name keeps its element, with a warning', () => {
    const { admission, set } = answer({
      annotations: { [NETWORKS]: 'a' },
      instance: { ...vmi({ networks: networks('a') }), metadata: { name: 'vm1', namespace: 'ns1' } },
      nads: [sticky('ns1/a')],
    })
    expect(set[NETWORKS]).toContain('vm1.net0')
    const long = { name: `a.${'b'.repeat(250)}`, multus: { networkName: 'a' } }
    const cut = answer({
      annotations: { [NETWORKS]: 'a' },
      instance: vmi({ networks: [{ ...long, name: `${'n'.repeat(248)}-x` }] }),
      nads: [sticky('ns1/a')],
    })
    expect(admission.warnings).toEqual([])
    expect(cut.set).toEqual({})
    expect(cut.admission.warnings?.join()).toContain('not a claim name')
  })
})

describe('a Pod in a primary network', () => {
  const spec = (nic: object = {}) => ({
    networks: [podNetwork],
    domain: { devices: { interfaces: [{ name: 'pod', ...nic }] } },
  })
  const asks = { 'network.kubevirt.io/addresses': '{"pod":["10.0.0.7","fd00::7"]}' }

  test('names its claim, and what the virtual machine asks for', () => {
    expect(answer({ instance: vmi(spec()), nads: [primary] }).set).toEqual({ [PRIMARY]: 'vm1.pod' })
    const both = answer({
      instance: vmi(spec({ macAddress: '02:00:00:00:00:01' }), asks),
      nads: [primary],
      options: { defaultNetworkNamespace: 'x' },
    })
    expect(both.set).toEqual({
      [PRIMARY]: 'vm1.pod',
      [DEFAULT]:
        '[{"name":"default","namespace":"x","ips":["10.0.0.7/24","fd00::7/64"],"mac":"02:00:00:00:00:01","ipam-claim-reference":"vm1.pod"}]',
    })
  })

  test('cannot bring the annotation of the default network, and an update can', () => {
    const world = { annotations: { [DEFAULT]: '[]' }, instance: vmi(spec(), asks), nads: [primary] }
    expect(answer(world).admission).toMatchObject({ allowed: false, code: 403 })
    expect(answer({ ...world, operation: 'UPDATE' }).set[DEFAULT]).toContain('10.0.0.7/24')
  })

  test('is not changed twice', () => {
    const world = { instance: vmi(spec(), asks), nads: [primary], operation: 'UPDATE' as const }
    const { set } = answer(world)
    expect(answer({ ...world, annotations: set as { [name: string]: string } }).note).toBe('mutation not needed')
  })

  test('with an address of a family that the network does not have is refused', () => {
    const four = nad('ns1/nad1', ovn({ role: 'primary', allowPersistentIPs: true }))
    const { admission } = answer({ instance: vmi(spec(), asks), nads: [four] })
    expect(admission).toMatchObject({ code: 500, message: expect.stringContaining('no IPv6 subnet configured') })
  })

  test('without an interface in it, or where claims are not honoured, stays as it is', () => {
    expect(answer({ instance: vmi({ networks: [podNetwork] }), nads: [primary] }).set).toEqual({})
    const plain = nad('ns1/nad1', ovn({ role: 'primary' }))
    expect(answer({ instance: vmi(spec()), nads: [plain] }).set).toEqual({})
  })

  test('has the first primary network by name', () => {
    const other = nad('ns1/a', { name: 'a', role: 'primary' })
    expect(answer({ instance: vmi(spec()), nads: [primary, other] }).set).toEqual({})
  })
})

const NOTHING = { instance: () => undefined, definition: () => undefined, definitionsIn: () => [] }

test('any network selection has an answer, which patches annotations alone', () => {
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc.array(fc.constantFrom('a', 'ns1/a', 'ns2/c@net1', 'gone'), { maxLength: 5 }).map((list) => list.join()),
  )
  fc.assert(
    fc.property(text, fc.option(text, { nil: undefined }), (selection, asked) => {
      const { admission } = answer({
        annotations: { [NETWORKS]: selection },
        instance: vmi(
          { networks: [podNetwork, ...networks('a', 'ns2/c')], domain: { devices: { interfaces: [{ name: 'pod' }] } } },
          asked === undefined ? {} : { 'network.kubevirt.io/addresses': asked },
        ),
        nads: [primary, sticky('ns1/a'), sticky('ns2/c')],
      })
      if (!admission.allowed) expect([400, 500]).toContain(admission.code)
      else for (const { path } of admission.patch ?? []) expect(path).toMatch(/^\/metadata\/annotations\/[^/]+$/)
    }),
  )
})

describe('a request for addresses', () => {
  const subnets = [Prefix.parse('10.0.0.0/24')]
  const asked = (annotation: string | undefined) => requestedAddresses({ annotation, network: 'net', subnets })

  test.each([
    ['MALFORMED_EMBEDDED_JSON', '{'],
    ['INVALID_OBJECT', '[]'],
    ['INVALID_OBJECT', '7'],
    ['INVALID_OBJECT', '{"net":"10.0.0.1"}'],
    ['INVALID_OBJECT', '{"net":[1]}'],
    ['INVALID_OBJECT', '{"net":["10.0.0.1/24"]}'],
    ['INVALID_OBJECT', '{"net":["fd00::1"]}'],
  ])('is refused with %s: %s', (code, annotation) => {
    expect(asked(annotation)).toMatchObject({ failure: { code } })
  })

  test('of another network, and none, are empty', () => {
    for (const annotation of [undefined, '{}', '{"other":["x"]}', '{"net":null}']) {
      expect(asked(annotation)).toEqual({ ok: true, value: [] })
    }
  })
})
