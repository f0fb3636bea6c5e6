// A real plan of the in-cluster provider, of which a process carries out two writes, and what the
// next process plans.
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { unwrap } from 'ipam-kit/errors'
import { explain, type Plan } from 'ipam-kit/plan'
import { PoolLedger, planClaim } from 'ipam-kit/provider/in-cluster'
import { runPlan } from 'ipam-kit/run'
import { create, read, readAll } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { box, fill, picture, stroke, text, wrapped } from './svg-parts.js'

const WIDTH = 880
const DONE = 2

async function plans(): Promise<readonly [Plan, Plan]> {
  let uids = 0
  const kinds = [IPAddressClaim, IPAddress, InClusterIPPool]
  const store = memoryStore({ now: () => 0, uid: () => `uid-${++uids}`, kinds })
  const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'lab' }
  const at = { namespace: 'default', name: 'lab' }
  const claimAt = { namespace: 'default', name: 'web-0' }
  const spec = { addresses: ['10.0.0.8-10.0.0.15'], prefix: 24, gateway: '10.0.0.1' }
  unwrap(await create(store, InClusterIPPool, { metadata: at, spec }))
  unwrap(await create(store, IPAddressClaim, { metadata: claimAt, spec: { poolRef } }))
  const next = async () => {
    const pool = unwrap(await read(store, InClusterIPPool, at))
    const claim = unwrap(await read(store, IPAddressClaim, claimAt))
    const addresses = unwrap(await readAll(store, IPAddress))
    return planClaim({ claim, address: addresses[0], pool, ledger: PoolLedger.build(pool, addresses) }, { nowMs: 0 })
  }
  const first = await next()
  await runPlan({ ...first, effects: first.effects.slice(0, DONE) }, store)
  return [first, await next()]
}

export async function crashBetweenWrites(): Promise<string> {
  const [first, second] = await plans()
  const lines: string[] = []
  let y = 8
  const heading = (words: string) => {
    lines.push(text(16, y + 20, words, `${fill('ink')} font-weight="600"`))
    y += 32
  }
  const effects = (plan: Plan, isDone: (nth: number) => boolean) => {
    for (const [nth, effect] of toldOf(plan).entries()) {
      if (nth > 0 && isDone(nth - 1) && !isDone(nth)) crash()
      const words = wrapped(`${nth + 1}. ${effect}`, 112)
      const height = words.length * 18 + 12
      lines.push(box({ x: 16, y, width: WIDTH - 32, height }, isDone(nth) ? 'good' : 'calm'))
      for (const [row, line] of words.entries()) lines.push(text(28 + (row > 0 ? 16 : 0), y + 20 + row * 18, line))
      y += height + 8
    }
  }
  const crash = () => {
    lines.push(`<path ${stroke('badLine')} stroke-width="2" stroke-dasharray="7 5" d="M16 ${y + 12} H${WIDTH - 16}"/>`)
    lines.push(`<rect ${fill('bad')} x="300" y="${y}" width="280" height="24" rx="6"/>`)
    lines.push(text(440, y + 17, 'the process dies here', `${fill('badLine')} text-anchor="middle" font-weight="600"`))
    y += 36
  }
  heading('The first plan: writes 1 and 2 are done')
  effects(first, (nth) => nth < DONE)
  y += 8
  heading('The next process reads the objects, and plans what is left')
  effects(second, () => false)
  const told = (plan: Plan) => toldOf(plan).join('; ')
  return picture({
    title: 'A plan with a crash between two writes',
    description: `The first plan: ${told(first)}. The process dies after write ${DONE}. The next plan: ${told(second)}.`,
    width: WIDTH,
    height: y + 4,
    lines,
  })
}

/** The effects of a plan in words. */
function toldOf(plan: Plan): string[] {
  return [...explain(plan).matchAll(/^ {2}\d+\. (.*)$/gm)].map(([, words]) => words!)
}
