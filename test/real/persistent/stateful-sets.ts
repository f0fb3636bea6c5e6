import assert from 'node:assert/strict'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Depth, Report } from '../report.js'
import { CLAIMS, STATEFUL_SETS } from './ground.js'
import { textOfClaim, textOfPod, until, type World } from './world.js'

const REPLICAS = { full: 20, short: 4 }
const NAME = 'web'
const LABEL = 'ipam-kit.dev/persistent-ips'

/** A StatefulSet, whose template has the form of the names of claims. */
export async function statefulSets(report: Report, world: World, depth: Depth): Promise<void> {
  const replicas = REPLICAS[depth]
  await report.test(`a StatefulSet of ${replicas} is scaled down and up, with the same addresses`, async () => {
    const { admin, audit, programs } = world
    await admin.send('POST', STATEFUL_SETS, { body: setOf(replicas) })
    const first = await servedBy(world, replicas)
    assert.equal(await audit.check(), replicas * 2)
    await scale(world, 1)
    await until(world, 'Pods stay', () => podsIn(world, replicas).length === 1 || undefined)
    await programs.kill('claims', 'addresses')
    assert.equal(await audit.check(), replicas * 2)
    assert.equal((await admin.list(CLAIMS)).length, replicas)
    await scale(world, replicas)
    assert.deepEqual(await servedBy(world, replicas), first)
    await audit.check()
    await admin.send('DELETE', `${STATEFUL_SETS}/${NAME}`, { body: { propagationPolicy: 'Foreground' } })
    await until(world, 'the StatefulSet or its claims stay', async () => {
      return (await admin.list(STATEFUL_SETS)).length + (await admin.list(CLAIMS)).length === 0 || undefined
    })
    assert.equal(await audit.check(), 0)
    return `${new Set(first).size} addresses of each family`
  })
}

function podsIn({ hypervisor }: World, replicas: number): readonly KubeObject[] {
  return Array.from({ length: replicas }, (_, nth) => hypervisor.pod(`${NAME}-${nth}`) ?? []).flat()
}

/** Waits until each Pod has the addresses of its claim. @returns those of each, by ordinal */
async function servedBy(world: World, replicas: number): Promise<readonly string[]> {
  return until(world, 'Pods of the StatefulSet have no addresses', async () => {
    const claims = new Map((await world.admin.list(CLAIMS)).map((claim) => [claim.metadata.name, textOfClaim(claim)]))
    const texts = podsIn(world, replicas).map((pod) => {
      const text = textOfPod(pod)
      return claims.get(`${pod.metadata.name}.blue`) === text ? text : ''
    })
    return texts.length === replicas && !texts.includes('') ? texts : undefined
  })
}

async function scale({ admin }: World, replicas: number): Promise<void> {
  await admin.send('PATCH', `${STATEFUL_SETS}/${NAME}`, { body: { spec: { replicas } }, patch: 'merge' })
}

function setOf(replicas: number): object {
  const labels = { app: NAME, [LABEL]: 'true' }
  const annotations = {
    'ipam-kit.dev/claim-owner': `StatefulSet.apps/${NAME}`,
    'ipam-kit.dev/claim-template': '{pod}.{network}',
    'k8s.v1.cni.cncf.io/networks': '[{"name":"blue"}]',
  }
  const spec = { containers: [{ name: 'c', image: 'i' }] }
  return {
    ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: NAME } },
    spec: {
      ...{ replicas, serviceName: NAME, podManagementPolicy: 'Parallel', selector: { matchLabels: { app: NAME } } },
      template: { metadata: { labels, annotations }, spec },
    },
  }
}
