import { type Cloud, cloudCaller, isCloudCall } from 'ipam-kit/provider/external'
import { type ServerCloud, serverCloudCaller } from 'ipam-kit/provider/openstack'
import type { ExternalCaller } from 'ipam-kit/run'

/** Carries the calls of both planners out. */
export function callerOf(cloud: Cloud & ServerCloud): ExternalCaller {
  const [ofPools, ofServers] = [cloudCaller(cloud), serverCloudCaller(cloud)]
  return (call) => (isCloudCall(call) ? ofPools(call) : ofServers(call))
}
