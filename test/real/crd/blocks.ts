import assert from 'node:assert/strict'
import { Prefix } from '../../../src/cidr/index.js'
import { blockName, IPBlock, IPDomain, IPPool } from '../../../src/crd/ipam-kit/index.js'
import type { CrdModel, KubeObject } from '../../../src/crd/meta/index.js'
import { longestBlock, longestRow } from '../../crd/ipam-kit/longest.js'
import type { Report } from '../report.js'
import type { RealKubernetes } from '../servers/kubernetes.js'

// Pools, blocks and domains of this library: what only an API server can say of them.

interface Answer extends KubeObject {
  readonly message?: string
  readonly items?: readonly KubeObject[]
}

type Fields = { readonly [field: string]: unknown }

const addresses = Prefix.parse('10.8.0.0/22')
const MERGE = { contentType: 'application/merge-patch+json' }
const wholeGrid = {
  ipv4: { blockPrefixLength: 22, allocationPrefixLength: 32 },
  ipv6: { blockPrefixLength: 118, allocationPrefixLength: 128 },
}
/**
 * The rules of the definitions and the size of a block. Our admission may stand before the objects
 * or not.
 */
export async function blockTests(report: Report, server: RealKubernetes): Promise<void> {
  const path = ({ info }: CrdModel<KubeObject>) => `/apis/${info.apiVersion}/${info.plural}`
  const create = async (model: CrdModel<KubeObject>, name: string, spec: Fields) => {
    const body = { apiVersion: model.info.apiVersion, kind: model.info.kind, metadata: { name }, spec }
    return server.request<Answer>('POST', path(model), { body })
  }
  const change = (model: CrdModel<KubeObject>, name: string, spec: Fields) =>
    server.request<Answer>('PATCH', `${path(model)}/${name}`, { ...MERGE, body: { spec } })
  const refuses = async (answer: ReturnType<typeof change>, words: string) => {
    const { status, body } = await answer
    assert.equal(status, 422)
    assert(body.message?.includes(words), body.message)
  }

  await report.test('a domain never changes, and a pool keeps its domain and its grid', async () => {
    assert.equal((await create(IPDomain, 'lab', wholeGrid)).status, 201)
    const ipv4 = { blockPrefixLength: 24 }
    await refuses(change(IPDomain, 'lab', { ipv4 }), 'spec: Invalid value: never changes')
    const subnets = [{ cidr: '10.8.0.0/16' }]
    assert.equal((await create(IPPool, 'blue', { domain: 'lab', subnets })).status, 201)
    await refuses(change(IPPool, 'blue', { domain: 'other' }), 'spec.domain: Invalid value: "other": never changes')
    assert.equal((await change(IPPool, 'blue', { ipv4: { blockPrefixLength: 22 }, disabled: true })).status, 200)
    await refuses(change(IPPool, 'blue', { ipv4 }), 'spec.ipv4: Invalid value: never changes once it is set')
    await refuses(change(IPPool, 'blue', { ipv4: null }), 'spec.ipv4: Invalid value: never changes once it is set')
    for (const model of [IPDomain, IPPool]) {
      const spec = model === IPDomain ? wholeGrid : { subnets }
      await refuses(create(model, 'a'.repeat(201), spec), 'metadata.name has more than 200 characters')
    }
    return undefined
  })

  await report.test('a block stays where it is, and its numbers only grow', async () => {
    const name = blockName('hall', addresses)
    const spec = { cidr: '10.8.0.0/22', domain: 'hall', allocationPrefixLength: 32, pool: 'green', sequence: 5 }
    const made = await create(IPBlock, name, spec)
    assert.equal(made.status, 201, made.body.message)
    assert.deepEqual((made.body.spec as Fields).rows, {})
    const others = { cidr: '10.9.0.0/22', domain: 'other', allocationPrefixLength: 28, pool: 'red' }
    for (const [field, value] of Object.entries(others)) {
      await refuses(
        change(IPBlock, name, { [field]: value }),
        `spec.${field}: Invalid value: ${JSON.stringify(value)}: never changes`,
      )
    }
    await refuses(change(IPBlock, name, { sequence: 4 }), 'spec.sequence: Invalid value: 4: never falls')
    const row = { owner: 'lab/web-0', uid: 'u-0', sequence: 6 }
    for (const unit of ['1024', '01', '-1', 'x']) {
      const added = change(IPBlock, name, { sequence: 6, rows: { [unit]: row } })
      await refuses(added, 'spec.rows: Invalid value: the key of a row is the number of a unit')
    }
    assert.equal((await change(IPBlock, name, { sequence: 6, node: 'n1', rows: { 1023: row } })).status, 200)
    for (const [field, value] of Object.entries({ domain: 'hall', node: 'n1', pool: 'green' })) {
      const of = async (wanted: string) =>
        (await server.request<Answer>('GET', `${path(IPBlock)}?fieldSelector=spec.${field}%3D${wanted}`)).body.items
      assert.deepEqual(
        (await of(value))?.map(({ metadata }) => metadata.name),
        [name],
        field,
      )
      assert.deepEqual(await of('none'), [], field)
    }
    return undefined
  })

  await report.test('a block of 1,024 rows with the longest names is stored in less than 1,000,000 bytes', async () => {
    const block = longestBlock()
    const stored = await server.request<Answer>('POST', path(IPBlock), { body: block })
    assert.equal(stored.status, 201, stored.body.message)
    const { name } = block.metadata
    const changed = await change(IPBlock, name, {
      sequence: Number.MAX_SAFE_INTEGER,
      rows: { 7: { ...longestRow, sequence: Number.MAX_SAFE_INTEGER } },
    })
    assert.equal(changed.status, 200, changed.body.message)
    const { rows } = changed.body.spec as { readonly rows: object }
    assert.equal(Object.keys(rows).length, 1024)
    const bytes = Buffer.byteLength(JSON.stringify(changed.body))
    assert(bytes < 1_000_000, `${bytes} bytes`)
    const { managedFields } = changed.body.metadata as unknown as { readonly managedFields: unknown }
    const book = JSON.stringify(managedFields).length
    // one line for all rows: a line for each would have 57 bytes and more
    assert(book < 2000, `${book} bytes in managedFields`)
    return `${bytes} bytes, ${book} of them in managedFields`
  })
}
