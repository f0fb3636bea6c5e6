import type { KubeObject } from 'ipam-kit/crd/meta'
import { waitFor } from '../servers/tools.js'
import { type Audit, addressesOfClaim, addressesOfPod } from './audit.js'
import { CLAIMS, type Ground } from './ground.js'
import type { Hypervisor } from './hypervisor.js'
import type { Programs } from './programs.js'

/** All that a test of this part works with. */
export interface World extends Ground {
  readonly programs: Programs
  readonly hypervisor: Hypervisor
  readonly audit: Audit
}

const SECONDS = 120

/** Waits with what the programs have said as the explanation. */
export function until<T>(world: World, otherwise: string, attempt: () => Promise<T | undefined> | T | undefined) {
  const { programs, hypervisor } = world
  return waitFor(attempt, {
    seconds: SECONDS,
    else: otherwise,
    giveUp: () => programs.assertRunning(),
    explain: () => `${programs.said}\n${hypervisor.problems.join('\n')}`,
  })
}

export async function claimNamed({ admin }: Pick<World, 'admin'>, name: string): Promise<KubeObject | undefined> {
  const claims = await admin.list(`${CLAIMS}?fieldSelector=metadata.name%3D${name}`)
  return claims[0]
}

/** `10.20.0.1 fd20::1`, sorted; empty: none. */
export function textOfClaim(claim: KubeObject | undefined): string {
  return claim === undefined ? '' : textOf(addressesOfClaim(claim))
}

export function textOfPod(pod: KubeObject | undefined): string {
  return pod === undefined ? '' : textOf(addressesOfPod(pod))
}

function textOf(addresses: readonly { readonly address: string }[]): string {
  return addresses
    .map(({ address }) => address)
    .sort()
    .join(' ')
}
