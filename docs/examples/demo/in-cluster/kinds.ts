import { ClusterApi, InCluster, type Meta } from 'ipam-kit/crd'

/** The kinds that the demo takes in. */
export const models: readonly Meta.Model<Meta.KubeObject>[] = [
  ClusterApi.Cluster,
  ClusterApi.IPAddressClaim,
  ClusterApi.IPAddress,
  ...InCluster.poolModels,
]

/** What the provider and the demo ask a store for. */
export const watchedKinds: readonly Meta.KindInfo[] = models.map(({ info }) => info)

/** The model of a kind as people write it on a command line: in any case, singular or plural. */
export function modelNamed(text: string): Meta.Model<Meta.KubeObject> | undefined {
  const wanted = text.toLowerCase()
  return models.find(({ info }) => info.kind.toLowerCase() === wanted || info.plural === wanted)
}

/** The model of an object of these kinds. */
export function modelOf(ref: { readonly apiVersion: string; readonly kind: string }): Meta.Model<Meta.KubeObject> {
  return models.find((candidate) => candidate.is(ref)) as Meta.Model<Meta.KubeObject>
}
