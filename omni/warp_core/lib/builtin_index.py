"""Which library module has which builtin; the only file of the library that is read to answer whether a name exists.

A name with overloads in several modules stands with the last of them, which imports the others.
"""

from __future__ import annotations

_MODULES = {
    "trigonometry": "sin cos tan asin acos atan atan2",
    "exponentials": "exp exp2 log log2 log10 pow sinh cosh tanh cbrt",
    "special": "erf erfc",
    "scalar_functions": """
        clamp floor ceil trunc rint round frac sqrt degrees radians step nonzero smoothstep copysign
    """,
    "vectors": """
        abs sign min max lerp isfinite isnan isinf dot length_sq length normalize cross outer skew cw_mul
        cw_div argmin argmax
    """,
    "matrices": "index transpose trace ddot diag get_diag determinant inverse",
    "fast_math": "div_approx inverse_approx",
    "quaternions": """
        quat_identity quat_from_axis_angle quat_to_axis_angle quat_inverse quat_rotate quat_rotate_inv
        quat_to_matrix quat_from_matrix quat_rpy quat_to_rpy quat_slerp quat_between_vectors
    """,
    "transforms": """
        mul transform_identity transform_get_translation transform_get_rotation
        transform_set_translation transform_set_rotation transform_multiply
        transform_point transform_vector transform_inverse
    """,
    "bits": "bit_count",
    "random": """
        rand_init randi randu randf randn poisson sample_cdf sample_triangle sample_unit_ring sample_unit_disk
        sample_unit_sphere_surface sample_unit_sphere sample_unit_hemisphere_surface sample_unit_hemisphere
        sample_unit_square sample_unit_cube
    """,
    "decompositions": "svd2 svd3 qr3 eig3",
    "noise": "noise pnoise curlnoise",
    "erfinv": "erfinv erfcinv",
    "search": "lower_bound",
    "spatial": """
        spatial_top spatial_bottom spatial_dot spatial_cross spatial_cross_dual spatial_adjoint transform_twist
        transform_wrench velocity_at_point
    """,
    "euler_angles": "quat_from_euler quat_to_euler quat_twist quat_twist_angle quat_twist_angle_signed",
    "affine": "transform_compose transform_decompose transform_from_matrix transform_to_matrix",
    "norms": "norm_l1 norm_l2 norm_huber norm_pseudo_huber smooth_normalize",
    "geometry.hash_grid_queries": "hash_grid_query hash_grid_query_next hash_grid_point_id",
    "geometry.mesh_data": """
        mesh_eval_position mesh_eval_velocity mesh_eval_face_normal mesh_get_index mesh_get_point mesh_get_velocity
    """,
    "geometry.mesh_views": "mesh_get",
    "geometry.mesh_groups": "mesh_get_group_root mesh_get_bvh",
    "geometry.mesh_rays": "mesh_query_ray mesh_query_ray_anyhit mesh_query_ray_count_intersections",
    "geometry.mesh_points": "mesh_query_point_no_sign",
    "geometry.mesh_signs": "mesh_query_point mesh_query_point_sign_parity mesh_query_point_sign_winding_number",
    "geometry.mesh_normals": "mesh_query_point_sign_normal",
    "geometry.mesh_boxes": "mesh_query_aabb mesh_query_aabb_next mesh_query_sphere mesh_query_next",
    "geometry.mesh_farthest": "mesh_query_furthest_point_no_sign",
    "geometry.bvh_queries": """
        bvh_query_aabb bvh_query_ray bvh_query_sphere bvh_query_capsule bvh_query_next bvh_get_group_root
    """,
    "volumes.volume_lookups": """
        volume_lookup volume_lookup_f volume_lookup_i volume_lookup_v volume_lookup_index volume_voxel_count
        volume_store volume_store_f volume_store_i volume_store_v
        volume_index_to_world volume_index_to_world_dir volume_world_to_index volume_world_to_index_dir
    """,
    "volumes.volume_samples": """
        volume_sample volume_sample_f volume_sample_i volume_sample_v volume_sample_grad volume_sample_grad_f
    """,
    "volumes.volume_old_names": "volume_sample_world volume_sample_local volume_transform volume_transform_inv",
    "volumes.volume_index_samples": "volume_sample_index volume_sample_grad_index",
    "textures.texture_samples": "texture_sample",
    "intersection": "closest_point_edge_edge intersect_tri_tri",
}

INDEX: dict[str, str] = {name: module for module, names in _MODULES.items() for name in names.split()}
