import type { ExternalCall, ExternalResult, Outcome, Planner } from 'ipam-kit/plan'
import { type Cloud, cloudCaller, isCloudCall } from 'ipam-kit/provider/external'
import { floatingIPPools, floatingServers, type ServerCloud, serverCloudCaller } from 'ipam-kit/provider/openstack'
import { CALL_SECONDS, CHECK_SECONDS, LIST_LAG_SECONDS, LIST_SECONDS } from './bounds.js'

/** The planners of a process, as the program of the guide makes them. */
export function plannersOf(): readonly Planner<Outcome>[] {
  const pools = floatingIPPools({
    callSeconds: CALL_SECONDS,
    listLagSeconds: LIST_LAG_SECONDS,
    listSeconds: LIST_SECONDS,
  })
  return [pools, floatingServers({ callSeconds: CALL_SECONDS, checkSeconds: CHECK_SECONDS })]
}

/** Carries out the calls of both planners. */
export function callerOf(cloud: Cloud & ServerCloud): (call: ExternalCall) => Promise<ExternalResult> {
  const [ofPools, ofServers] = [cloudCaller(cloud), serverCloudCaller(cloud)]
  return (call) => (isCloudCall(call) ? ofPools(call) : ofServers(call))
}
