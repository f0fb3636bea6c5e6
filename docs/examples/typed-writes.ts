import { create, memoryStore, patch, remove, unwrap } from 'ipam-kit'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'

// checksSchemas: the store refuses what an API server would refuse
const store = memoryStore({ now: Date.now, kinds: [InClusterIPPool], checksSchemas: true })
const lab = { namespace: 'default', name: 'lab' }

// apiVersion and kind come from the model; unwrap throws if the store refuses the object
const made = unwrap(
  await create(store, InClusterIPPool, {
    metadata: lab,
    spec: { addresses: ['10.0.0.0/28'], prefix: 28, gateway: '10.0.0.1' },
  }),
)
console.log(made.apiVersion, made.spec.gateway) // ipam.cluster.x-k8s.io/v1alpha2 10.0.0.1

// null removes a field; the version is a precondition
const { resourceVersion } = made.metadata
unwrap(await patch(store, InClusterIPPool, lab, { spec: { gateway: null } }, { resourceVersion }))
const late = await patch(store, InClusterIPPool, lab, { spec: { prefix: 27 } }, { resourceVersion })
console.log(late.ok || late.failure.code) // STORE_CONFLICT

const wrong = await patch(store, InClusterIPPool, lab, { spec: { prefix: 300 } })
console.log(wrong.ok || wrong.failure.context)
// { object: 'InClusterIPPool default/lab', path: 'spec.prefix', problem: 'Invalid value: 300: ...' }

const removed = unwrap(await remove(store, InClusterIPPool, lab))
console.log(removed.metadata.name) // lab
