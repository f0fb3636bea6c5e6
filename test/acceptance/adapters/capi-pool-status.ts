import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { type InClusterPool, poolModels } from 'ipam-kit/crd/in-cluster'
import { type Model, type ObjectRef, refOf } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import * as z from 'zod'
import { type Answer, type Answers, answerKeys, type GivenCase, unsupported } from '../answer.js'
import { countAsUpstream } from '../count.js'
import { readInput } from '../read-input.js'

type InClusterPoolCounts = NonNullable<NonNullable<InClusterPool['status']>['ipAddresses']>

const spec = z.record(z.string(), z.unknown())
const inputSchema = z.strictObject({
  kind: z.enum(poolModels.map((model) => model.info.kind)),
  spec,
  claims: z.int().nonnegative().default(0),
  updatedSpec: spec.optional(),
})

type Input = z.output<typeof inputSchema>

/** The status of a pool: the provider at work on a store, as it would be on an API server. */
export async function capiPoolStatus({ input, expect }: GivenCase): Promise<Answer> {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { before, after } = await statusOf(known.data)
  return answerKeys(expect, { ...countAnswers(after), before: countAnswers(before), after: countAnswers(after) })
}

/** The counts of a pool before there are claims, and after everything that happens to it. */
async function statusOf(
  input: Input,
): Promise<{ readonly before: InClusterPoolCounts | undefined; readonly after: InClusterPoolCounts | undefined }> {
  let nowMs = Date.UTC(2026, 0, 1)
  // every object is a second younger than the one before
  const now = () => {
    nowMs += 1000
    return nowMs
  }
  const store = memoryStore({ now, kinds: [IPAddressClaim, IPAddress, Cluster, ...poolModels].map(({ info }) => info) })
  const run = async () => {
    const { failures } = await runUntilQuiet(store, [inCluster()], { now })
    const [first] = failures
    if (first !== undefined) throw new Error(`${first.key}: ${first.failure.message}`)
  }

  const model = poolModels.find((candidate) => candidate.info.kind === input.kind) as Model<InClusterPool>
  const { apiVersion, kind, namespaced } = model.info
  const metadata = namespaced ? { namespace: 'default', name: 'pool' } : { name: 'pool' }
  const ref: ObjectRef = refOf(unwrap(await store.create({ apiVersion, kind, metadata, spec: input.spec })))
  const counts = async () => model.parse(unwrap(await store.get(ref))).status?.ipAddresses
  await run()
  const before = await counts()

  for (let index = 1; index <= input.claims; index++) unwrap(await store.create(claimOf(`claim-${index}`, kind)))
  await run()
  if (input.updatedSpec !== undefined) {
    unwrap(await store.update({ ...unwrap(await store.get(ref)), spec: input.updatedSpec }))
    await run()
  }
  return { before, after: await counts() }
}

function claimOf(name: string, poolKind: string) {
  return {
    apiVersion: IPAddressClaim.info.apiVersion,
    kind: IPAddressClaim.info.kind,
    metadata: { namespace: 'default', name },
    spec: { poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: poolKind, name: 'pool' } },
  }
}

/** A pool whose spec cannot be used has no counts. */
function countAnswers(counts: InClusterPoolCounts | undefined): Answers {
  const answer = (count: number | undefined) => () => (count === undefined ? null : countAsUpstream(count))
  return {
    total: answer(counts?.total),
    used: answer(counts?.used),
    free: answer(counts?.free),
    outOfRange: answer(counts?.outOfRange),
  }
}
