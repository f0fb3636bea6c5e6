import type { Store } from 'ipam-kit/store'
import { expect, test } from 'vitest'
import { inMemory, onEtcd, onPostgres } from '../../docs/examples/stores.js'
import { emptyDatabase } from '../setup/pglite.js'

const claim = {
  apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
  kind: 'IPAddressClaim',
  metadata: { name: 'web-0', namespace: 'default' },
}

async function expectKinds(store: Store): Promise<void> {
  expect(await store.create(claim)).toMatchObject({ ok: true })
  expect(await store.create({ ...claim, metadata: { name: 'web-0' } })).toMatchObject({
    ok: false,
    failure: { code: 'STORE_INVALID' },
  })
}

test('the stores of the guide take a claim, and refuse one without a namespace', async () => {
  await expectKinds(inMemory())
  await expectKinds(await onPostgres(await emptyDatabase()))
})

test('a server that cannot be reached is a failure of the call', async () => {
  const { apiVersion, kind, metadata } = claim
  const found = await onEtcd('http://127.0.0.1:1').get({ apiVersion, kind, ...metadata })
  expect(found).toMatchObject({ ok: false, failure: { code: 'STORE_IO' } })
})
